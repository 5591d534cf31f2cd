import type { LayoutFile } from '../../../lib/index.ts'

/** An export as a shop offers it, with invented values. */
export interface ShopExport {
  readonly title: string
  readonly lines: readonly string[]
  /**
   * What an import with the proposed layout stores: item, time, quantity, amount, currency, status
   * and user of each purchase.
   */
  readonly stored: { readonly [transaction_id: string]: string }
  /** What `explain` asks, in order. */
  readonly asks: readonly string[]
  /** The answers to the questions, where the default is not true for this shop. */
  readonly answers?: Partial<LayoutFile>
  /** How many rows an import passes over. */
  readonly passedOver?: number
}

/** Shops of several languages. Their items are gold, gem_bag and potion. */
export const SHOP_EXPORTS: readonly ShopExport[] = [
  {
    title: 'Etsy, sold order items',
    lines: [
      'Sale Date,Item Name,Buyer,Quantity,Price,Coupon Code,Discount Amount,Order Shipping,Order Sales Tax,Item Total,Currency,Transaction ID,Listing ID,Date Paid,Date Shipped,Ship City,Order ID,Variations,SKU',
      '07/21/25,Bag of gems,Ann Lee (annlee),2,4.99,,0.00,0.00,0.62,9.98,USD,4012345678,1198765432,07/21/25,07/22/25,Austin,2512345678,,gem_bag',
      '07/21/25,Gold,Ann Lee (annlee),1,4.99,,0.00,0.00,0.62,4.99,USD,4012345679,1198765433,07/21/25,07/22/25,Austin,2512345678,,gold',
      '08/03/25,Gold,Bo Day (boday),1,4.99,,0.00,0.00,0.31,4.99,USD,4012345680,1198765433,08/03/25,08/04/25,Leeds,2512345700,,gold',
    ],
    stored: {
      '4012345678': 'gem_bag 2025-07-21T00:00:00.000Z 2 998 USD purchased',
      '4012345679': 'gold 2025-07-21T00:00:00.000Z 1 499 USD purchased',
      '4012345680': 'gold 2025-08-03T00:00:00.000Z 1 499 USD purchased',
    },
    asks: ['zone'],
  },
  {
    title: 'eBay, orders report',
    lines: [
      '""',
      'Sales Record Number,Order Number,Buyer Username,Buyer Name,Buyer Email,Item Number,Item Title,Custom Label,Quantity,Sold For,Shipping And Handling,eBay Collected Tax,Total Price,Payment Method,Sale Date,Paid On Date,Ship By Date,Tracking Number,Transaction ID',
      '1001,22-11111-00001,shopper1,Ann Lee,a@example.invalid,226012345678,Gold for heroes,gold,1,$4.99,$0.00,$0.41,$5.40,PayPal,Jul-21-25,Jul-21-25,Jul-23-25,,1234567890123',
      '1002,22-11111-00002,shopper2,Bo Day,b@example.invalid,226012345679,Bag of gems,gem_bag,2,$9.98,$0.00,$0.82,$10.80,PayPal,Aug-02-25,Aug-03-25,Aug-05-25,,1234567890124',
    ],
    stored: {
      '1234567890123': 'gold 2025-07-21T00:00:00.000Z 1 499 USD purchased shopper1',
      '1234567890124': 'gem_bag 2025-08-02T00:00:00.000Z 2 998 USD purchased shopper2',
    },
    asks: ['zone', 'columns.price', 'currency', 'columns.purchased_at'],
    answers: {
      columns: {
        transaction_id: 'Transaction ID',
        sku: 'Custom Label',
        purchased_at: 'Sale Date',
        quantity: 'Quantity',
        price: 'Sold For',
        user_id: 'Buyer Username',
      },
    },
    passedOver: 1,
  },
  {
    title: 'Square, items detail',
    lines: [
      'Date,Time,Time Zone,Category,Item,Qty,Price Point Name,SKU,Modifiers Applied,Gross Sales,Discounts,Net Sales,Tax,Transaction ID,Payment ID,Device Name,Event Type,Location,Customer ID',
      '07/21/2025,10:15:00,Pacific Time (US & Canada),Games,Gold,1.0,Regular,gold,,$4.99,$0.00,$4.99,$0.41,SQtx1,SQpay1,Till 1,Payment,Main Street,C1',
      '07/21/2025,10:15:00,Pacific Time (US & Canada),Games,Gem bag,2.0,Regular,gem_bag,,$9.98,$0.00,$9.98,$0.82,SQtx1,SQpay1,Till 1,Payment,Main Street,C1',
      '07/22/2025,18:40:00,Pacific Time (US & Canada),Games,Gold,1.0,Regular,gold,,$4.99,$0.00,$4.99,$0.41,SQtx2,SQpay2,Till 1,Payment,Main Street,',
    ],
    stored: {
      'SQtx1/gold': 'gold 2025-07-21T17:15:00.000Z 1 499 USD purchased C1',
      'SQtx1/gem_bag': 'gem_bag 2025-07-21T17:15:00.000Z 2 998 USD purchased C1',
      'SQtx2/gold': 'gold 2025-07-23T01:40:00.000Z 1 499 USD purchased',
    },
    asks: ['currency'],
  },
  {
    title: 'Amazon, date range report',
    lines: [
      '"Includes Amazon Marketplace, Fulfillment by Amazon (FBA), and Amazon Webstore transactions"',
      '"All amounts in USD, unless specified"',
      '"Definitions:"',
      '"Sales tax collected: Includes sales tax collected from buyers for product sales, shipping, and gift wrap."',
      '"date/time","settlement id","type","order id","sku","description","quantity","marketplace","fulfillment","order city","product sales","product sales tax","shipping credits","promotional rebates","selling fees","fba fees","other","total"',
      '"Jun 8, 2025 10:23:05 PM PDT","20123456781","Order","113-1111111-2222222","gold","Gold for heroes","1","amazon.com","Seller","AUSTIN","4.99","0.41","0","0","-0.75","0","0","4.24"',
      '"Jun 9, 2025 1:03:55 AM PDT","20123456781","Order","113-1111111-2222223","gem_bag","Bag of gems","2","amazon.com","Seller","RENO","9.98","0.82","0","0","-1.50","0","0","8.48"',
      '"Jun 12, 2025 4:00:01 PM PDT","20123456781","Refund","113-1111111-2222222","gold","Gold for heroes","1","amazon.com","Seller","AUSTIN","-4.99","-0.41","0","0","0.60","0","0","-4.39"',
      '"Jun 13, 2025 4:00:01 PM PDT","20123456781","Service Fee","","","Subscription","","","","","0","0","0","0","0","0","-39.99","-39.99"',
      '"Jun 14, 2025 4:00:01 PM PDT","20123456781","Transfer","","","To your account","","","","","0","0","0","0","0","0","-11.30","-11.30"',
    ],
    stored: {
      '113-1111111-2222222': 'gold 2025-06-09T05:23:05.000Z 1 499 USD refunded',
      '113-1111111-2222223': 'gem_bag 2025-06-09T08:03:55.000Z 2 998 USD purchased',
    },
    asks: ['columns.price', 'currency'],
    answers: {
      columns: {
        transaction_id: 'order id',
        sku: 'sku',
        purchased_at: 'date/time',
        quantity: 'quantity',
        price: 'product sales',
        status: 'type',
      },
    },
    passedOver: 6,
  },
  {
    title: 'Amazon, date range report in German',
    lines: [
      '"Umfasst alle Transaktionen"',
      '"Datum/Uhrzeit";"Abrechnungsnummer";"Typ";"Bestellnummer";"SKU";"Beschreibung";"Menge";"Marketplace";"Versand";"Ort der Bestellung";"Umsätze";"Produktumsatzsteuer";"Gutschrift für Versandkosten";"Verkaufsgebühren";"Gesamt"',
      '"08.06.2025 22:23:05 UTC";"20123456781";"Bestellung";"303-1111111-2222222";"gold";"Gold";"1";"amazon.de";"Verkäufer";"Berlin";"4,99";"0,80";"0";"-0,75";"4,24"',
      '"13.06.2025 01:03:55 UTC";"20123456781";"Bestellung";"303-1111111-2222223";"gem_bag";"Edelsteine";"2";"amazon.de";"Verkäufer";"Köln";"1.009,98";"1,60";"0";"-1,50";"1.008,48"',
      '"14.06.2025 10:00:00 UTC";"20123456781";"Erstattung";"303-1111111-2222222";"gold";"Gold";"1";"amazon.de";"Verkäufer";"Berlin";"-4,99";"-0,80";"0";"0,60";"-4,39"',
      '"15.06.2025 10:00:00 UTC";"20123456781";"Servicegebühr";"";"";"Abo";"";"";"";"";"0";"0";"0";"-39,99";"-39,99"',
    ],
    stored: {
      '303-1111111-2222222': 'gold 2025-06-08T22:23:05.000Z 1 499 EUR refunded',
      '303-1111111-2222223': 'gem_bag 2025-06-13T01:03:55.000Z 2 100998 EUR purchased',
    },
    asks: ['currency'],
    answers: { currency: 'EUR' },
    passedOver: 2,
  },
  {
    title: 'Gumroad, sales',
    lines: [
      'Purchase ID,Item Name,Buyer Name,Purchase Email,Buyer Email,Purchase Date,Purchase Time (UTC timezone),Subtotal ($),Taxes ($),Tip ($),Sale Price ($),Fees ($),Net Total ($),Quantity,Country,Referrer,Refunded?,Partial Refund ($),Fully Refunded?,Disputed?,SKU ID,License Key',
      'g1abc==,Gold,Ann Lee,a@example.invalid,a@example.invalid,2025-07-21,2025-07-21 10:15:00 -0700,4.99,0.41,0,5.40,0.64,4.76,1,US,direct,0,0.0,0,0,gold,K-1',
      'g2abc==,Gem bag,Bo Day,b@example.invalid,b@example.invalid,2025-07-22,2025-07-22 11:00:00 -0700,9.98,0.82,0,10.80,1.2,9.60,2,US,direct,1,0.0,1,0,gem_bag,K-2',
      'g3abc==,Gold,Cy Fox,c@example.invalid,c@example.invalid,2025-07-23,2025-07-23 12:00:00 -0700,4.99,0.41,0,5.40,0.64,4.76,1,US,direct,1,1.0,0,0,gold,K-3',
    ],
    stored: {
      'g1abc==': 'gold 2025-07-21T17:15:00.000Z 1 540 USD purchased',
      'g2abc==': 'gem_bag 2025-07-22T18:00:00.000Z 2 1080 USD refunded',
      'g3abc==': 'gold 2025-07-23T19:00:00.000Z 1 540 USD purchased',
    },
    asks: ['columns.price', 'currency'],
    answers: {
      columns: {
        transaction_id: 'Purchase ID',
        sku: 'SKU ID',
        purchased_at: 'Purchase Time (UTC timezone)',
        quantity: 'Quantity',
        price: 'Sale Price ($)',
        status: 'Fully Refunded?',
      },
    },
  },
  {
    title: 'itch.io, purchases',
    lines: [
      'id,object_name,amount,source,created_at,email,full_name,donation,on_sale,country_code,product_price,tax_added,tip,marketplace_fee,source_fee,payout,source_payout_id',
      '5012345,gold,$4.99,paypal,2025-07-21 10:15:00,a@example.invalid,Ann Lee,false,false,US,$4.99,$0.00,$0.00,$0.50,$0.45,paid,PP1',
      '5012346,gem_bag,$11.00,stripe,2025-07-22 11:00:00,b@example.invalid,Bo Day,false,false,DE,$9.98,$0.00,$1.02,$1.00,$0.60,paid,PP2',
    ],
    stored: {
      '5012345': 'gold 2025-07-21T10:15:00.000Z 1 499 USD purchased',
      '5012346': 'gem_bag 2025-07-22T11:00:00.000Z 1 1100 USD purchased',
    },
    asks: ['zone', 'columns.price', 'currency'],
  },
  {
    title: 'Paddle, transactions',
    lines: [
      'transaction_id,status,customer_id,currency_code,origin,product_id,product_name,quantity,subtotal,tax,grand_total,fee,earnings,created_at,billed_at,updated_at',
      'txn_01h1,completed,ctm_01,USD,web,gold,Gold,1,4.15,0.84,4.99,0.75,3.40,2025-07-21T10:15:00.123Z,2025-07-21T10:15:03.123Z,2025-07-21T10:16:00.123Z',
      'txn_01h2,completed,ctm_02,GBP,web,gem_bag,Gem bag,2,8.31,1.67,9.98,1.10,7.21,2025-07-22T11:00:00.5Z,2025-07-22T11:00:02.5Z,2025-07-23T10:16:00.123Z',
      'txn_01h3,canceled,ctm_03,USD,web,gold,Gold,1,4.15,0.84,4.99,0.00,0.00,2025-07-22T11:30:00Z,2025-07-22T11:30:01Z,2025-07-23T10:16:00.123Z',
    ],
    stored: {
      txn_01h1: 'gold 2025-07-21T10:15:00.123Z 1 499 USD purchased ctm_01',
      txn_01h2: 'gem_bag 2025-07-22T11:00:00.500Z 2 998 GBP purchased ctm_02',
      txn_01h3: 'gold 2025-07-22T11:30:00.000Z 1 499 USD cancelled ctm_03',
    },
    asks: ['columns.price'],
  },
  {
    title: 'WooCommerce, orders with their lines',
    lines: [
      'Order Number,Order Status,Order Date,Customer Note,First Name (Billing),Email (Billing),City (Billing),Payment Method Title,Order Subtotal Amount,Order Shipping Amount,Order Refund Amount,Order Total Amount,Order Total Tax Amount,SKU,Item #,Item Name,Quantity (- Refund),Item Cost,Coupon Code',
      '5001,Completed,2025-07-21 10:15,,Ann,a@example.invalid,Austin,Stripe,14.97,0.00,0.00,14.97,0.00,gold,1,Gold,1,4.99,',
      '5001,Completed,2025-07-21 10:15,,Ann,a@example.invalid,Austin,Stripe,14.97,0.00,0.00,14.97,0.00,gem_bag,2,Gem bag,2,4.99,',
      '5002,Refunded,2025-08-02 18:40,,Bo,b@example.invalid,Leeds,PayPal,4.99,0.00,4.99,4.99,0.00,gold,1,Gold,1,4.99,',
      '5003,On hold,2025-08-03 09:00,,Cy,c@example.invalid,Leeds,Bank,4.99,0.00,0.00,4.99,0.00,gold,1,Gold,1,4.99,',
    ],
    stored: {
      '5001/gold': 'gold 2025-07-21T10:15:00.000Z 1 1497 USD purchased',
      '5001/gem_bag': 'gem_bag 2025-07-21T10:15:00.000Z 2 1497 USD purchased',
      '5002/gold': 'gold 2025-08-02T18:40:00.000Z 1 499 USD refunded',
      '5003/gold': 'gold 2025-08-03T09:00:00.000Z 1 499 USD pending',
    },
    asks: ['zone', 'columns.price', 'currency'],
  },
  {
    title: 'Easy Digital Downloads, payments with refund rows',
    lines: [
      'Payment ID,Payment Number,Email,Customer ID,Amount ($),Currency,Products (Raw),Date,User,Status',
      '501,501,a@example.invalid,9,4.99,USD,gold,2026-05-01 10:00:00,player-1,complete',
      '502,501-R-1,a@example.invalid,9,-4.99,USD,gold,2026-05-03 09:00:00,player-1,complete',
    ],
    stored: {
      '501': 'gold 2026-05-01T10:00:00.000Z 1 499 USD purchased 9',
      '502': 'gold 2026-05-03T09:00:00.000Z 1 499 USD refunded 9',
    },
    asks: ['zone', 'negative'],
  },
  {
    title: 'PayPal in German',
    lines: [
      '"Datum","Uhrzeit","Zeitzone","Name","Typ","Status","Währung","Brutto","Gebühr","Netto","Absender E-Mail-Adresse","Transaktionscode","Artikelbezeichnung","Artikelnummer","Zugehöriger Transaktionscode","Rechnungsnummer","Anzahl","Guthaben"',
      '"21.07.2025","10:15:00","CEST","Ann Lee","Express-Kaufabwicklung","Abgeschlossen","EUR","4,99","-0,45","4,54","a@example.invalid","1AB23456CD789012E","Gold","gold","","","1","4,54"',
      '"22.07.2025","11:00:00","CEST","Bo Day","Express-Kaufabwicklung","Abgeschlossen","EUR","1.009,98","-0,60","1.009,38","b@example.invalid","1AB23456CD789013E","Edelsteine","gem_bag","","","2","1.013,92"',
      '"23.07.2025","11:00:00","CEST","Cy Fox","Express-Kaufabwicklung","Ausstehend","EUR","4,99","-0,45","4,54","c@example.invalid","1AB23456CD789014E","Gold","gold","","","1","1.018,46"',
      '"24.07.2025","11:00:00","CEST","","Bankgutschrift auf PayPal-Konto","Abgeschlossen","EUR","100,00","0,00","100,00","","1AB23456CD789015E","","","","","","1.118,46"',
    ],
    stored: {
      '1AB23456CD789012E': 'gold 2025-07-21T08:15:00.000Z 1 499 EUR purchased',
      '1AB23456CD789013E': 'gem_bag 2025-07-22T09:00:00.000Z 2 100998 EUR purchased',
      '1AB23456CD789014E': 'gold 2025-07-23T09:00:00.000Z 1 499 EUR pending',
    },
    asks: [],
    passedOver: 1,
  },
  {
    title: 'PayPal in French',
    lines: [
      '"Date","Heure","Fuseau horaire","Nom","Type","État","Devise","Brut","Frais","Net","De l\'adresse email","Numéro de transaction","Titre de l\'objet","Numéro de l\'objet","Quantité","Solde"',
      '"21/07/2025","10:15:00","CEST","Ann Lee","Paiement Express Checkout","Terminé","EUR","4,99","-0,45","4,54","a@example.invalid","2AB23456CD789012E","Or","gold","1","4,54"',
      '"22/07/2025","11:00:00","CEST","Bo Day","Paiement Express Checkout","Terminé","EUR","9,98","-0,60","9,38","b@example.invalid","2AB23456CD789013E","Gemmes","gem_bag","2","13,92"',
    ],
    stored: {
      '2AB23456CD789012E': 'gold 2025-07-21T08:15:00.000Z 1 499 EUR purchased',
      '2AB23456CD789013E': 'gem_bag 2025-07-22T09:00:00.000Z 2 998 EUR purchased',
    },
    asks: [],
  },
  {
    title: 'PayPal in Spanish',
    lines: [
      '"Fecha","Hora","Zona horaria","Nombre","Tipo","Estado","Divisa","Bruto","Comisión","Neto","Correo electrónico del remitente","Id. de transacción","Nombre del artículo","Número de artículo","Cantidad","Saldo"',
      '"03/04/2025","10:15:00","Europe/Madrid","Ann Lee","Pago exprés","Completado","EUR","4,99","-0,45","4,54","a@example.invalid","3AB23456CD789012E","Oro","gold","1","4,54"',
      '"05/04/2025","11:00:00","Europe/Madrid","Bo Day","Pago exprés","Reembolsado","EUR","9,98","-0,60","9,38","b@example.invalid","3AB23456CD789013E","Gemas","gem_bag","2","13,92"',
      '"06/04/2025","11:00:00","Europe/Madrid","Bo Day","Pago exprés","Retenido","EUR","9,98","-0,60","9,38","b@example.invalid","3AB23456CD789014E","Gemas","gem_bag","2","13,92"',
    ],
    stored: {
      '3AB23456CD789012E': 'gold 2025-04-03T08:15:00.000Z 1 499 EUR purchased',
      '3AB23456CD789013E': 'gem_bag 2025-04-05T09:00:00.000Z 2 998 EUR refunded',
    },
    asks: ['date_format', 'statuses'],
    passedOver: 1,
  },
  {
    title: 'an Italian shop',
    lines: [
      'Numero ordine;Data ordine;Cliente;Codice articolo;Articolo;Quantità;Prezzo unitario;Totale riga;Valuta;Stato',
      'IT-1001;21/07/2025 10:15;Anna Verdi;gold;Oro;1;4,99;4,99;EUR;Pagato',
      'IT-1002;22/07/2025 18:40;Bruno Neri;gem_bag;Sacca di gemme;3;4,99;14,97;EUR;Rimborsato',
      'IT-1003;23/07/2025 09:00;Carla Blu;potion;Pozione;1;1.200,00;1.200,00;EUR;Annullato',
    ],
    stored: {
      'IT-1001': 'gold 2025-07-21T10:15:00.000Z 1 499 EUR purchased',
      'IT-1002': 'gem_bag 2025-07-22T18:40:00.000Z 3 1497 EUR refunded',
      'IT-1003': 'potion 2025-07-23T09:00:00.000Z 1 120000 EUR cancelled',
    },
    asks: ['zone'],
  },
  {
    title: 'a Polish shop',
    lines: [
      'Numer zamówienia;Data zamówienia;Klient;Kod produktu;Nazwa produktu;Ilość;Wartość brutto;VAT;Waluta;Status płatności',
      'PL/1001;2025-07-21 10:15:00;Anna K;gold;Złoto;1;19,99;3,74;PLN;Opłacone',
      'PL/1002;2025-07-22 18:40:00;Jan N;gem_bag;Klejnoty;2;1 039,98;7,48;PLN;Zwrócone',
    ],
    stored: {
      'PL/1001': 'gold 2025-07-21T10:15:00.000Z 1 1999 PLN purchased',
      'PL/1002': 'gem_bag 2025-07-22T18:40:00.000Z 2 103998 PLN refunded',
    },
    asks: ['zone'],
  },
  {
    title: 'a Turkish shop',
    lines: [
      'Sipariş Numarası;Sipariş Tarihi;Müşteri;Ürün Kodu;Ürün Adı;Adet;Birim Fiyat;Toplam Tutar;Para Birimi;Sipariş Durumu;Kargo Ücreti',
      'TR1001;21.07.2025 10:15;Ayşe;gold;Altın;1;149,90;149,90;TRY;Tamamlandı;0,00',
      'TR1002;22.07.2025 18:40;Can;gem_bag;Taş;2;149,90;299,80;TRY;İade Edildi;0,00',
    ],
    stored: {
      TR1001: 'gold 2025-07-21T10:15:00.000Z 1 14990 TRY purchased',
      TR1002: 'gem_bag 2025-07-22T18:40:00.000Z 2 29980 TRY refunded',
    },
    asks: ['zone'],
  },
  {
    title: 'a Russian shop',
    lines: [
      'Номер заказа;Дата заказа;Покупатель;Артикул;Товар;Количество;Цена за единицу;Сумма;Валюта;Статус заказа',
      'RU-1001;21.07.2025 10:15:00;Анна;gold;Золото;1;399,00;399,00;RUB;Оплачен',
      'RU-1002;22.07.2025 18:40:00;Борис;gem_bag;Камни;2;799,50;1 599,00;RUB;Отменён',
    ],
    stored: {
      'RU-1001': 'gold 2025-07-21T10:15:00.000Z 1 39900 RUB purchased',
      'RU-1002': 'gem_bag 2025-07-22T18:40:00.000Z 2 159900 RUB cancelled',
    },
    asks: ['zone'],
  },
  {
    title: 'a Japanese shop',
    lines: [
      '注文番号,注文日時,購入者名,商品コード,商品名,数量,単価,金額,通貨,ステータス,配送先住所',
      'JP-1001,2025/07/21 10:15:00,山田,gold,ゴールド,1,¥600,¥600,JPY,完了,東京都',
      'JP-1002,2025/07/22 18:40:00,佐藤,gem_bag,宝石袋,2,¥600,"¥1,200",JPY,返金済み,大阪府',
    ],
    stored: {
      'JP-1001': 'gold 2025-07-21T10:15:00.000Z 1 600 JPY purchased',
      'JP-1002': 'gem_bag 2025-07-22T18:40:00.000Z 2 1200 JPY refunded',
    },
    asks: ['zone'],
  },
  {
    title: 'a Chinese shop',
    lines: [
      '订单编号,下单时间,买家,商品编号,商品名称,数量,实付金额,运费,币种,订单状态',
      '20250721000123,2025-07-21 10:15:00,小明,gold,金币,1,30.00,0.00,CNY,交易成功',
      '20250722000124,2025-07-22 18:40:00,小红,gem_bag,宝石,2,60.00,0.00,CNY,已退款',
    ],
    stored: {
      '20250721000123': 'gold 2025-07-21T10:15:00.000Z 1 3000 CNY purchased',
      '20250722000124': 'gem_bag 2025-07-22T18:40:00.000Z 2 6000 CNY refunded',
    },
    asks: ['zone'],
  },
  {
    title: 'a Korean shop',
    lines: [
      '주문번호,결제일시,구매자,상품코드,상품명,수량,결제금액,배송비,주문상태',
      'KR-1001,2025.07.21 10:15:00,김,gold,골드,1,"5,900원",0원,결제완료',
      'KR-1002,2025.07.22 18:40:00,이,gem_bag,보석,2,"11,800원",0원,환불완료',
    ],
    stored: {
      'KR-1001': 'gold 2025-07-21T10:15:00.000Z 1 5900 KRW purchased',
      'KR-1002': 'gem_bag 2025-07-22T18:40:00.000Z 2 11800 KRW refunded',
    },
    asks: ['zone'],
  },
  {
    title: 'a Portuguese shop',
    lines: [
      'Pedido;Data da compra;Cliente;SKU;Produto;Quantidade;Valor total;Moeda;Status',
      '#BR1001;21/07/2025 10:15;Ana;gold;Ouro;1;R$ 24,90;BRL;Pago',
      '#BR1002;22/07/2025 18:40;Beto;gem_bag;Gemas;2;R$ 1.049,80;BRL;Estornado',
    ],
    stored: {
      '#BR1001': 'gold 2025-07-21T10:15:00.000Z 1 2490 BRL purchased',
      '#BR1002': 'gem_bag 2025-07-22T18:40:00.000Z 2 104980 BRL refunded',
    },
    asks: ['zone'],
  },
  {
    title: 'a game back end with Unix times and minor units',
    lines: [
      'purchaseId,playerId,productId,priceInCents,currencyCode,createdAt,state,platform',
      'p-1,player-1,gold,499,USD,1753092900,COMPLETED,ios',
      'p-2,player-2,gem_bag,998,EUR,1753179300,REFUNDED,android',
    ],
    stored: {
      'p-1': 'gold 2025-07-21T10:15:00.000Z 1 499 USD purchased player-1',
      'p-2': 'gem_bag 2025-07-22T10:15:00.000Z 1 998 EUR refunded player-2',
    },
    asks: [],
  },
]
