import type { PurchaseStatus } from '../../domain/purchase.ts'

/**
 * The words of column names in English, German, French, Spanish, Portuguese, Italian, Polish,
 * Turkish, Russian, Japanese, Chinese and Korean, by what they say. They are in the form of
 * `plainWords`. A word of up to three Latin letters, or after `=`, must be a whole word of a name.
 * Other words may be a part of a longer one: `Bestellnummer`, `注文番号`.
 */
const NAME_WORDS = {
  id: 'id no nr num number code nummer kennung numero codigo codice numer kod numara identif номер код идентиф 番号 コード 编号 號 号 번호 코드 식별',
  order:
    'order bestell auftrag commande pedido encomenda ordine zamowien siparis заказ 注文 オーダー 订单 訂單 주문',
  transaction:
    'transaction txn trx transaktion transaccion transacao transac transazione transakcj islem транзакц операц 取引 トランザクション 交易 거래',
  sale: 'sale sales sold purchase kauf vente achat venta compra venda vendita acquisto sprzedaz zakup satis satin продаж покупк 購入 売上 販売 销售 购买 구매 판매',
  payment:
    'payment charge zahlung paiement =pago pagamento platnosc odeme платеж 支払 決済 付款 支付 결제 지불',
  invoice:
    'invoice receipt rechnung beleg facture factura fatura fattura ricevuta faktur paragon счет чек 請求 領収 发票 영수증 송장',
  record: 'record row zeile ligne linea linha riga wiersz satir строк 行 행',
  item: 'item product article artikel produkt produit producto produto articulo artigo articolo prodotto towar urun товар продукт артикул 商品 製品 品目 产品 상품 제품 listing asin game spiel jeu juego jogo gioco oyun игра 게임 ゲーム 游戏',
  sku: 'sku custom~label artikelnummer артикул 品番 型番 货号 stok~kodu product~id item~id produkt-id produktid',
  name: 'name title titel bezeichnung beschreib description descrip titre =nom nombre =nome titolo nazwa tytul =ad adi isim назван наименов описан 名 名称 内容 名前 이름 설명',
  date: 'date datum fecha =data tarih дата 日 날짜 일자 일시 timestamp charged~on zeitpunkt',
  time: 'time zeit uhrzeit heure =hora =ora godzin =czas saat zaman врем 時 时间 時間 시간 시각',
  zone: 'time~zone timezone zeitzone fuseau zona~horaria fuso strefa saat~dilimi часовой タイムゾーン 时区 시간대',
  customer:
    'customer buyer user player client purchaser payer sender kunde kauferin kaufer kundin nutzer spieler absender acheteur utilisateur joueur expediteur comprador cliente usuario jugador remitente jogador acquirente utente giocatore mittente kupujac klient uzytkown gracz nadawc alici musteri kullanici oyuncu gonderen покупат клиент пользоват игрок отправит 顧客 購入者 ユーザ お客 プレイヤ 买家 客户 用户 玩家 구매자 고객 사용자 회원 custom~number',
  email: 'email mail correo posta почт メール 邮箱 邮件 이메일 메일',
  address:
    'address city zip postal postcode country phone street region =ip location adresse strasse =stadt =ort plz =land telefon =ville =pays direccion ciudad =pais indirizzo citta paese adres miasto kraj sehir ulke адрес город страна телефон 住所 都道府県 国 電話 地址 城市 国家 电话 주소 도시 국가 전화',
  amount:
    'amount sold~for charged received revenue ingreso betrag umsatz montant =valor importe monto importo kwota tutar сумм 金額 金额 額 금액 売上高',
  total:
    'total gross sum wartosc gesamt summe brutto =brut bruto totale lordo suma razem toplam итог всего валов 合計 総額 总 合计 총액 합계 grand~total',
  price:
    'price preis prix precio preco prezzo cena fiyat цен стоимост 価格 价格 单价 単価 가격 단가',
  unit: 'unit each single einzel unitair unitari jednostk birim единиц 単価 单价 단가 per~item item~cost',
  cost: 'cost kosten cout costo custo koszt maliyet себестоим 原価 成本 원가',
  fee: 'fee fees commission gebuhr provision frais comision comissao cargo tarifa commissione prowizj oplat komisyon ucret комисс сбор 手数料 手续费 佣金 수수료',
  tax: 'tax taxes vat gst mwst ust steuer tva taxe iva impuesto imposto imposta podat =kdv vergi налог ндс 税 세금 부가세 세액',
  shipping:
    'ship delivery postage handling tracking fulfil versand liefer livraison envio entrega frete spediz consegna wysyl dostaw kargo teslim gonderim доставк отгруз 配送 送料 発送 運費 运费 发货 배송',
  discount:
    'discount coupon voucher promo rabatt gutschein remise reduction descuento =cupon desconto cupom sconto rabat kupon indirim скидк купон 割引 クーポン 折扣 优惠 할인 쿠폰 =tip donation',
  net: 'net netto neto liquid payout settlement earning proceed deposit auszahl =solde balance guthaben saldo bakiye баланс нетто 残高 余额 净额 純 잔액 순액',
  refund:
    'refund return chargeback erstatt ruckzahl rembours reembols devol rimborso zwrot iade возврат возвращ 返金 払戻 退款 환불',
  currency:
    'currency wahrung devise monnaie moneda moeda valuta walut doviz para~birimi валют 通貨 货币 币种 貨幣 통화 화폐',
  quantity:
    'quantity qty units menge anzahl stuck quantite cantidad quantidade =qtd quantita ilosc sztuk adet miktar количеств =кол 数量 個数 수량',
  status:
    'statu state =etat estado stato =stan durum статус состоян ステータス 状態 状況 状态 상태',
  type: 'type kind event =typ =art tipo rodzaj =tur тип вид 種別 種類 区分 类型 유형 종류',
  paid: 'paid bezahlt paye pagad pagato zaplac oplac odenen оплач 支払日 付款时间 결제일',
  created: 'created placed erstellt cree creado criado creato utworz olustur создан 作成 创建 생성',
  otherDate:
    'updated modified due expires expiry valid cancel birth estimated available shipped ship~by listed period aktualisiert geandert fallig ablauf modifie echeance actualiz vencimiento aggiorn scadenza zmienion guncel обновл измен 更新 期限 修改 수정 만료',
  related:
    'reference related parent original previous zugehor bezug associ relacion riferimento powiazan ilgili связан 関連 参照 关联 참조 관련 원거래 settlement payout',
  otherRecord: 'subscription account device session store shop website',
  part: 'subtotal sub~total zwischensumme sous-total subtotale suma~czesciowa ara~toplam подытог 小計 小计 소계',
  minor: 'cents minor =ct centimes centavos 分',
  utc: 'utc gmt',
} as const

/** A concept that a column name may stand for. */
export type Concept = keyof typeof NAME_WORDS

/** Splits words at blanks, and normalizes them. `~` stands for a blank in a word. */
function split(words: string): readonly string[] {
  return words.split(' ').map((word) => plainWords(word.replaceAll('~', ' ')))
}

type Words = readonly (readonly [concept: Concept, words: readonly string[]])[]

let nameWords: Words | undefined

/** Normalizes the words when they are first used: most programs explain no file. */
function readNameWords(): Words {
  nameWords ??= Object.entries(NAME_WORDS).map(
    ([concept, words]) => [concept as Concept, split(words)] as const,
  )
  return nameWords
}

/**
 * Normalizes a name or a word: no capitals, accents, underscores, or capitals between words
 * (`transactionId`).
 */
function plainWords(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replace(/[łıßø]/g, (letter) => LETTERS[letter] ?? letter)
    .replace(/[\s_]+/g, ' ')
    .trim()
}

/** Letters with marks that are no accents of Unicode. */
const LETTERS: { readonly [letter: string]: string } = { ł: 'l', ı: 'i', ß: 'ss', ø: 'o' }

/** Finds what a column name says. */
export function conceptsOf(name: string): ReadonlySet<Concept> {
  const text = plainWords(name)
  const has = createSearch(text)
  return new Set(readNameWords().flatMap(([concept, words]) => (words.some(has) ? [concept] : [])))
}

/** Returns a function that tells whether a text has a word. */
function createSearch(text: string): (word: string) => boolean {
  const tokens = new Set(text.split(/[^\p{L}\p{N}]+/u))
  return (word) => {
    if (word.startsWith('=')) return tokens.has(word.slice(1))
    return word.length <= 3 && /^[a-z]+$/.test(word) ? tokens.has(word) : text.includes(word)
  }
}

// Words like `processing` and `open` are unknown: a sale may be paid then, or not.
const STATUS_WORDS: { readonly [S in PurchaseStatus]: string } = {
  purchased:
    'purchased completed complete done paid success succeeded successful sold sale sales order payment purchase charge charged captured settled approved shipped delivered fulfilled active abgeschlossen bezahlt erledigt verkauft verkauf zahlung bestellung erfolgreich genehmigt versandt versendet geliefert paiement~accepte expedie expediee livre livree terminee termine paye payee effectue effectuee vente commande paiement reussi completado completada entregado entregada enviado enviada entregue pagado pagada pago venta pedido concluido concluida paga aprovado aprovada completato completata spedito consegnato pagato pagata vendita ordine pagamento zakonczone zakonczona wyslane wyslano dostarczone zrealizowane zaplacone oplacone ukonczone sprzedaz zamowienie tamamlandi kargoya~verildi odendi satis basarili teslim~edildi завершен завершена завершено оплачен оплачено отправлен доставлен получен выполнен выполнено продажа успешно 完了 発送済 発送済み 配送済 支払済 支払済み 決済完了 購入 売上 已完成 已发货 已签收 已付款 完成 交易成功 成功 已支付 完了済み 완료 배송중 배송완료 완료됨 결제완료 결제~완료 구매확정 구매 결제',
  pending:
    'pending authorized unpaid awaiting on-hold on~hold ausstehend en~attente pendiente pendente in~attesa in~sospeso oczekujace oczekuje beklemede bekliyor ожидает в~ожидании 保留中 保留 未払い 未入金 待付款 待处理 대기 대기중 보류 입금대기',
  refunded:
    'refund refunded reversed chargeback ruckerstattet erstattet erstattung ruckerstattung ruckzahlung rembourse remboursee remboursement reembolsado reembolsada reembolso devuelto devolucion estornado estorno rimborsato rimborsata rimborso zwrocone zwrocono zwrot iade iade~edildi возвращен возвращено возврат 返金 返金済み 返金済 払い戻し 已退款 退款 환불 환불됨 환불완료',
  cancelled:
    'cancelled canceled voided void venta~cancelada failed declined expired denied rejected abandoned storniert abgebrochen fehlgeschlagen abgelehnt annule annulee echoue refuse cancelado cancelada rechazado fallido falhou annullato annullata fallito anulowane anulowano odrzucone iptal iptal~edildi basarisiz отменен отменена отменено отмена отклонен キャンセル キャンセル済み 取消 失敗 已取消 已关闭 交易关闭 취소 취소됨 취소완료 실패',
}

let statusWords: ReadonlyMap<string, PurchaseStatus> | undefined

function readStatusWords(): ReadonlyMap<string, PurchaseStatus> {
  statusWords ??= new Map(
    Object.entries(STATUS_WORDS).flatMap(([status, words]) =>
      split(words).map((word) => [word, status as PurchaseStatus] as const),
    ),
  )
  return statusWords
}

/** Words for yes and no, in a column like `Refunded?`. */
const YES = 'yes true 1 y ja oui si sim tak evet да はい 是 예'
const NO = 'no false 0 n nein non nao nie hayir нет いいえ 否 아니요 아니오'

/** Whether a word is a yes; undefined for another word. */
export function flagOf(word: string): boolean | undefined {
  const text = plainWords(word)
  if (YES.split(' ').includes(text)) return true
  return NO.split(' ').includes(text) ? false : undefined
}

/** The status that a word means. A partly refunded purchase counts as purchased. */
export function statusOf(word: string): PurchaseStatus | undefined {
  const text = plainWords(word)
  const known = readStatusWords().get(text)
  if (known) return known
  const [, refunds = []] = readNameWords().find(([concept]) => concept === 'refund') ?? []
  if (!refunds.some(createSearch(text))) return undefined
  return /part|teil|parz|parc|czesc|kismi|част|一部|部分|부분/.test(text) ? 'purchased' : 'refunded'
}
