// SPDX-License-Identifier: Apache-2.0

import LastroWire
import TestSupport
import Testing

@Suite("Punycode")
struct PunycodeTests {
  /// The samples of RFC 3492 §7.1 with its errata. Letters that belong to the encoding are in lower case.
  static let samples: [(unicode: String, ascii: String)] = [
    ("ليهمابتكلموشعربي؟", "egbpdaj6bu4bxfgehfvwxn"),
    ("他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"),
    ("他們爲什麽不說中文", "ihqwctvzc91f659drss3x8bo0yb"),
    ("Pročprostěnemluvíčesky", "Proprostnemluvesky-uyb24dma41a"),
    ("למההםפשוטלאמדבריםעברית", "4dbcagdahymbxekheh6e0a7fei0b"),
    ("यहलोगहिन्दीक्योंनहींबोलसकतेहैं", "i1baa7eci9glrd9b2ae1bj0hfcgg6iyaf8o0a1dig0cd"),
    ("なぜみんな日本語を話してくれないのか", "n8jok5ay5dzabd5bym9f0cm5685rrjetr6pdxa"),
    (
      "세계의모든사람들이한국어를이해한다면얼마나좋을까",
      "989aomsvi5e83db1d2a355cv1e0vak1dwrv93d5xbh15a0dt30a5jpsd879ccm6fea98c"
    ),
    ("почемужеонинеговорятпорусски", "b1abfaaepdrnnbgefbadotcwatmq2g4l"),
    ("PorquénopuedensimplementehablarenEspañol", "PorqunopuedensimplementehablarenEspaol-fmd56a"),
    ("TạisaohọkhôngthểchỉnóitiếngViệt", "TisaohkhngthchnitingVit-kjcr8268qyxafd2f1b9g"),
    ("3年B組金八先生", "3B-ww4c5e180e575a65lsy2b"),
    ("安室奈美恵-with-SUPER-MONKEYS", "-with-SUPER-MONKEYS-pc58ag80a8qai00g7n9n"),
    ("Hello-Another-Way-それぞれの場所", "Hello-Another-Way--fc4qua05auwb3674vfr0b"),
    ("ひとつ屋根の下2", "2-u9tlzr9756bt3uc0v"),
    ("MajiでKoiする5秒前", "MajiKoi5-783gue6qz075azm5e"),
    ("パフィーdeルンバ", "de-jg4avhby1noc0d"),
    ("そのスピードで", "d9juau41awczczp"),
    ("-> $1.00 <-", "-> $1.00 <--"),
    ("ü", "tda"), ("bücher", "bcher-kva"), ("💩", "ls8h"), ("", ""), ("a", "a-"), ("\u{80}", "a"),
    ("\u{10FFFF}", "dn32g"),
  ]

  @Test("The samples of RFC 3492 convert in both directions", arguments: samples)
  func sample(unicode: String, ascii: String) {
    let scalars = Array(unicode.unicodeScalars)
    #expect(Punycode.encode(scalars).map { String(decoding: $0, as: UTF8.self) } == ascii)
    #expect(Punycode.decode(Array(ascii.utf8)) == scalars)
  }

  @Test("Digits are accepted in either case")
  func upperCase() {
    #expect(Punycode.decode(Array("BCHER-KVA".utf8)).map { String(String.UnicodeScalarView($0)) } == "BüCHER")
  }

  @Test(
    "Invalid Punycode is refused",
    arguments: [
      "bcher-kv", "bcher-k_a", "ü", "-\u{80}", "99999999", "9999999999999999999999999999", "a-99999b", "bcher-",
      "-kva", "-",
      // The texts encode a surrogate, and values above U+10FFFF.
      "ib9b", "zy0c", "en32g",
    ])
  func refused(text: String) {
    let decoded = Punycode.decode(Array(text.utf8))
    // A text with a hyphen at the end encodes ASCII alone.
    #expect(text == "bcher-" ? decoded == Array("bcher".unicodeScalars) : decoded == nil)
  }

  @Test("Any text that decodes is encoded to the same text")
  func roundTrips() {
    var generator = SeededGenerator(seed: 7)
    let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789-".utf8)
    var decodedCount = 0
    for _ in 0..<20_000 {
      let text = (0..<Int(generator.next() % 12)).map { _ in alphabet[Int(generator.next() % 37)] }
      guard let label = Punycode.decode(text) else { continue }
      decodedCount += 1
      let again = Punycode.encode(label)
      #expect(again.flatMap { Punycode.decode($0) } == label)
    }
    #expect(decodedCount > 1_000)
  }

  @Test("Labels of arbitrary scalars round-trip")
  func anyScalars() {
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<300 {
      let label = (0..<Int(generator.next() % 63)).compactMap { _ in
        Unicode.Scalar(UInt32(truncatingIfNeeded: generator.next() % 0x11_0000))
      }
      #expect(Punycode.encode(label).flatMap { Punycode.decode($0) } == label)
    }
  }

  @Test("Numbers that overflow are refused and do not wrap around")
  func overflow() {
    let label = [Unicode.Scalar](repeating: "a", count: 5_000) + ["\u{10FFFF}"]
    #expect(Punycode.encode(label) == nil)
  }
}
