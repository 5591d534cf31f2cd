import type { PurchaseStatus } from '../../domain/purchase.ts'

/**
 * The words of column names in English, German, French, Spanish, Portuguese, Italian, Polish,
 * Turkish, Russian, Japanese, Chinese, Korean and Arabic, by what they say. They are in the form of
 * `plainWords`. A word of up to three Latin letters, or after `=`, must be a whole word of a name.
 * Other words may be a part of a longer one: `Bestellnummer`, `注文番号`.
 */
const NAME_WORDS = {
  id: 'id no nr num number code nummer kennung numero codigo codice numer kod numara identif номер код идентиф 番号 コード 编号 號 号 번호 코드 식별 رقم رمز معرف',
  order:
    'order bestell auftrag commande pedido encomenda ordine zamowien siparis заказ 注文 オーダー 订单 訂單 주문 طلب',
  transaction:
    'transaction txn trx transaktion transaccion transacao transac transazione transakcj islem транзакц операц 取引 トランザクション 交易 거래 معاملة عملية 流水',
  sale: 'sale sales sold purchase kauf vente achat venta compra venda vendita acquisto sprzedaz zakup satis satin продаж покупк 購入 売上 販売 销售 购买 구매 판매 購買 شراء بيع مبيعات',
  payment:
    'payment charge zahlung paiement =pago pagamento platnosc odeme платеж 支払 決済 付款 支付 결제 지불 دفع',
  invoice:
    'invoice receipt rechnung beleg facture factura fatura fattura ricevuta faktur paragon счет чек 請求 領収 发票 영수증 송장 發票 فاتورة',
  record: 'record row zeile ligne linea linha riga wiersz satir строк 行 행',
  item: 'item product article artikel produkt produit producto produto articulo artigo articolo prodotto towar urun товар продукт артикул 商品 製品 品目 产品 상품 제품 منتج سلعة listing asin artikelnr アイテム 道具 아이템',
  game: 'game spiel jeu juego jogo gioco oyun =gra игра 게임 ゲーム 游戏 遊戲 لعبة',
  sku: 'sku custom~label artikelnummer артикул 品番 型番 货号 stok~kodu product~id item~id produkt-id produktid artikelnr art.-nr رمز~المنتج reference~produit reference~article ref.~produit',
  name: 'name title titel bezeichnung beschreib description descrip titre =nom nombre =nome titolo nazwa tytul =ad adi isim назван наименов описан 名 名称 内容 名前 이름 설명 اسم وصف',
  date: 'date datum fecha =data tarih дата 日 날짜 일자 일시 timestamp charged~on zeitpunkt تاريخ',
  time: 'time zeit uhrzeit heure =hora =ora godzin =czas saat zaman врем 時 时间 時間 시간 시각 وقت ساعة',
  zone: 'time~zone timezone zeitzone fuseau zona~horaria fuso strefa saat~dilimi часовой タイムゾーン 时区 시간대',
  customer:
    'customer buyer user player gamer =member =members client purchaser payer sender kunde kauferin kaufer kundin nutzer spieler absender acheteur utilisateur joueur expediteur comprador cliente usuario jugador remitente jogador acquirente utente giocatore mittente kupujac klient uzytkown gracz nadawc alici musteri kullanici oyuncu gonderen покупат клиент пользоват игрок отправит 顧客 購入者 ユーザ お客 プレイヤ 买家 客户 用户 玩家 구매자 고객 사용자 회원 유저 플레이어 게이머 геймер ゲーマー 会員 會員 会员 用戶 客戶 買家 عميل زبون مستخدم لاعب مشتري mitglied =membre miembro membro =uye custom~number =pseudo utilizador 角色',
  account:
    '=account =accounts =konto =compte =cuenta =conta =hesap аккаунт учетн アカウント 账号 账户 帳號 帳戶 계정 حساب',
  email: 'email mail correo posta почт メール 邮箱 邮件 이메일 메일 بريد',
  address:
    'address city zip postal postcode country phone street region =ip location adresse strasse =stadt =ort plz =land telefon =ville =pays direccion ciudad =pais indirizzo citta paese adres miasto kraj sehir ulke адрес город страна телефон 住所 都道府県 国 電話 地址 城市 国家 电话 주소 도시 국가 전화 عنوان مدينة بلد هاتف',
  amount:
    'amount sold~for charged received revenue ingreso betrag umsatz montant =valor importe monto importo kwota tutar сумм 金額 金额 額 금액 売上高 مبلغ',
  total:
    'total gross sum wartosc gesamt summe brutto =brut bruto totale lordo suma razem toplam итог всего валов 合計 総額 总 合计 총액 합계 grand~total إجمالي اجمالي مجموع 總',
  price:
    'price preis prix precio preco prezzo cena fiyat цен стоимост 価格 价格 单价 単価 가격 단가 價格 سعر',
  unit: 'unit each single einzel unitair unitari jednostk birim единиц 単価 单价 단가 per~item item~cost وحدة',
  cost: 'cost kosten cout costo custo koszt maliyet себестоим 原価 成本 원가',
  fee: 'fee fees commission gebuhr provision frais comision comissao cargo tarifa commissione prowizj oplat komisyon ucret комисс сбор 手数料 手续费 佣金 수수료 رسوم عمولة',
  tax: 'tax taxes vat gst mwst ust steuer tva taxe iva impuesto imposto imposta podat =kdv vergi налог ндс 税 세금 부가세 세액 ضريبة',
  shipping:
    'ship delivery postage handling tracking fulfil versand liefer livraison envio entrega frete spediz consegna wysyl dostaw kargo teslim gonderim доставк отгруз 配送 送料 発送 運費 运费 发货 배송 شحن توصيل',
  discount:
    'discount coupon voucher promo rabatt gutschein remise reduction descuento =cupon desconto cupom sconto rabat kupon indirim скидк купон 割引 クーポン 折扣 优惠 할인 쿠폰 =tip donation خصم',
  net: 'net netto neto liquid payout settlement earning proceed deposit auszahl =solde balance guthaben saldo bakiye баланс нетто 残高 余额 净额 純 잔액 순액 صافي',
  refund:
    'refund return chargeback erstatt ruckzahl rembours reembols devol rimborso zwrot iade возврат возвращ 返金 払戻 退款 환불 استرداد مسترد استرجاع',
  currency:
    'currency wahrung devise monnaie moneda moeda valuta walut doviz para~birimi валют 通貨 货币 币种 貨幣 통화 화폐 divisa 幣種 幣別 币别 عملة',
  quantity:
    'quantity qty units menge anzahl stuck quantite cantidad quantidade =qtd quantita ilosc sztuk adet miktar количеств =кол 数量 個数 수량 unidades =qta =qte =cant 數量 كمية عدد =count q.ta 개수',
  status:
    'statu =state =states orderstate paymentstate zustand =etat estado situacao situacion stato =stan durum статус состоян ステータス 状態 状況 状态 상태 狀態 حالة',
  type: 'type kind event =typ =art tipo rodzaj =tur тип вид 種別 種類 区分 类型 유형 종류 نوع',
  paid: 'paid bezahlt paye pagad pagato zaplac oplac odenen оплач 支払日 付款时间 결제일',
  created: 'created placed erstellt cree creado criado creato utworz olustur создан 作成 创建 생성',
  otherDate:
    'updated modified due expires expiry valid cancel birth estimated available shipped ship~by listed period aktualisiert geandert fallig ablauf modifie echeance actualiz vencimiento aggiorn scadenza zmienion guncel обновл измен 更新 期限 修改 수정 만료',
  related:
    'reference related parent original previous zugehor bezug associ relacion riferimento powiazan ilgili связан 関連 参照 关联 참조 관련 원거래 settlement payout',
  otherRecord: 'subscription device session store shop website',
  part: 'subtotal sub~total zwischensumme sous-total subtotale suma~czesciowa ara~toplam подытог 小計 小计 소계',
  minor: 'cents minor =ct centimes centavos 分',
  utc: 'utc gmt',
  test: '=test =tests sandbox testbestell testkauf testorder testmod testtrans testzahl =teste de~prueba di~prova тест テスト 测试 測試 테스트 اختبار تجريبي',
  live: '=live livemode =production',
  environment:
    'environment =env umgebung environnement entorno ambiente =ortam среда окружен 環境 环境 환경 بيئة',
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
  // The second part finds `id` in `ユーザーID`.
  const tokens = new Set([...text.split(/[^\p{L}\p{N}]+/u), ...(text.match(/[a-z]+/g) ?? [])])
  return (word) => {
    if (word.startsWith('=')) return tokens.has(word.slice(1))
    return word.length <= 3 && /^[a-z]+$/.test(word) ? tokens.has(word) : text.includes(word)
  }
}

// Words like `processing` and `open` are unknown: a sale may be paid then, or not.
const STATUS_WORDS: { readonly [S in PurchaseStatus]: string } = {
  purchased:
    'purchased completed complete done paid success succeeded successful sold sale sales order payment purchase charge charged captured settled approved shipped delivered fulfilled active abgeschlossen bezahlt erledigt verkauft verkauf zahlung bestellung erfolgreich genehmigt versandt versendet geliefert paiement~accepte expedie expediee livre livree terminee termine paye payee effectue effectuee vente commande paiement reussi completado completada entregado entregada enviado enviada entregue pagado pagada pago venta pedido concluido concluida paga aprovado aprovada completato completata spedito consegnato pagato pagata vendita ordine pagamento zakonczone zakonczona wyslane wyslano dostarczone zrealizowane zaplacone oplacone ukonczone sprzedaz zamowienie tamamlandi kargoya~verildi odendi satis basarili teslim~edildi завершен завершена завершено оплачен оплачено отправлен доставлен получен выполнен выполнено продажа успешно 完了 発送済 発送済み 配送済 支払済 支払済み 決済完了 購入 売上 已完成 已发货 已签收 已付款 完成 交易成功 成功 已支付 完了済み 완료 배송중 배송완료 완료됨 결제완료 결제~완료 구매확정 구매 결제 مدفوع مكتمل مكتملة تم~الدفع ناجح ناجحة',
  pending:
    'pending authorized unpaid awaiting on-hold on~hold ausstehend en~attente pendiente pendente in~attesa in~sospeso oczekujace oczekuje beklemede bekliyor ожидает в~ожидании 保留中 保留 未払い 未入金 待付款 待处理 대기 대기중 보류 입금대기 معلق قيد~الانتظار',
  refunded:
    'refund refunded reversed chargeback ruckerstattet erstattet erstattung ruckerstattung ruckzahlung rembourse remboursee remboursement reembolsado reembolsada reembolso devuelto devolucion estornado estorno rimborsato rimborsata rimborso zwrocone zwrocono zwrot iade iade~edildi возвращен возвращено возврат 返金 返金済み 返金済 払い戻し 已退款 退款 환불 환불됨 환불완료 مسترد مستردة تم~الاسترداد مسترجع',
  cancelled:
    'cancelled canceled voided void venta~cancelada failed declined expired denied rejected abandoned storniert abgebrochen fehlgeschlagen abgelehnt annule annulee echoue refuse cancelado cancelada rechazado fallido falhou annullato annullata fallito anulowane anulowano odrzucone iptal iptal~edildi basarisiz отменен отменена отменено отмена отклонен キャンセル キャンセル済み 取消 失敗 已取消 已关闭 交易关闭 취소 취소됨 취소완료 실패 ملغي ملغى ملغاة فاشل فاشلة مرفوض',
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
const FLAGS = [
  ...[['yes', 'no'] as const, ['true', 'false'] as const, ['1', '0'] as const],
  ...[['y', 'n'] as const, ['ja', 'nein'] as const, ['ja', 'nee'] as const, ['ja', 'nej'] as const],
  ...[['oui', 'non'] as const, ['sí', 'no'] as const, ['sì', 'no'] as const, ['si', 'no'] as const],
  ...[['sim', 'não'] as const, ['tak', 'nie'] as const, ['evet', 'hayır'] as const],
  ...[['да', 'нет'] as const, ['はい', 'いいえ'] as const, ['是', '否'] as const],
  ...[['예', '아니요'] as const, ['예', '아니오'] as const, ['نعم', 'لا'] as const],
]

/** Whether a word is a yes; undefined for another word. */
export function flagOf(word: string): boolean | undefined {
  const text = plainWords(word)
  if (FLAGS.some(([yes]) => plainWords(yes) === text)) return true
  return FLAGS.some(([, no]) => plainWords(no) === text) ? false : undefined
}

/** The words that say the contrary of a yes or a no. */
export function oppositesOf(word: string): readonly string[] {
  const text = plainWords(word)
  return FLAGS.flatMap(([yes, no]) => {
    if (plainWords(yes) === text) return [no]
    return plainWords(no) === text ? [yes] : []
  })
}

/** Words for yes, in all languages. */
export const YES: readonly string[] = FLAGS.map(([yes]) => yes)

const TEST_WORDS = split(
  'test tests testing sandbox staging development dev xcode localtesting testbestellung testkauf test~order test~purchase test~mode testmodus commande~test pedido~de~prueba pedido~de~teste тест テスト 测试 測試 테스트 اختبار',
)
const LIVE_WORDS = split('live production prod real normal release produktion echt')

/** Whether a word stands for test orders; undefined for another word. */
export function isTestOf(word: string): boolean | undefined {
  const text = plainWords(word)
  if (TEST_WORDS.includes(text)) return true
  return LIVE_WORDS.includes(text) ? false : undefined
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
