// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

@Suite("Parsing No-Vary-Search")
struct NoVarySearchTests {
  static func rule(_ lines: String...) -> NoVarySearch? {
    NoVarySearch(CacheFields(lines.map { CacheFields.Line("No-Vary-Search", $0) }))
  }

  @Test(
    "URLs are equivalent according to the rule",
    arguments: [
      ("params=(\"utm\")", "a?x=1&utm=2", "a?x=1", true), ("params=(\"utm\")", "a?utm=2", "a", true),
      ("params=(\"utm\")", "a?x=1&utm=2", "a?x=2", false), ("params=(\"utm\")", "a?x=1", "b?x=1", false),
      ("params=(\"utm\")", "a?x=1&y=2", "a?y=2&x=1", false), ("params", "a?x=1", "a?y=2", true),
      ("key-order", "a?x=1&y=2", "a?y=2&x=1", true), ("key-order", "a?x=1&x=2", "a?x=2&x=1", false),
      ("key-order, params=(\"z\")", "a?x=1&z&y=2", "a?y=2&x=1", true), ("except=(\"x\")", "a?x=1&y=2", "a?x=1", true),
      ("except=(\"x\")", "a?x=1", "a?x=2", false), ("except=()", "a?x=1", "a?x=2", true),
      ("params=(\"a b\")", "a?a+b=1", "a?a%20b=2", true), ("params=(\"a+b\")", "a?a%20b=1", "a", true),
      ("params=(\"z\")", "a?x=%41", "a?x=A", true), ("params=(\"z\")", "a?x=%26y", "a?x=&y", false),
      ("params=(\"z\")", "a?x=a%3Db", "a?x=a=b", true), ("params=(\"z\")", "a?x=%zz", "a?x=%25zz", true),
      ("params=(\"z\")", "a?&&x=1&", "a?x=1", true), ("params=(\"z\")", "a?x", "a?x=", true),
      ("params=(\"z\")", "a?x=?1", "a?x=%3F1", true), ("params=(\"z\")", "a?Z=1", "a", false),
      ("params=(\"%c3%a9\")", "a?%C3%A9=1", "a", true),
    ])
  func alike(line: String, one: String, other: String, isAlike: Bool) throws {
    let rule = try #require(Self.rule(line))
    #expect((rule.canonical(one) == rule.canonical(other)) == isAlike)
  }

  @Test(
    "An empty or malformed rule keeps the whole query significant",
    arguments: [
      "", "params=()", "params=?0", "key-order=?0", "key-order=1", "params=\"x\"", "params=(x)", "params=(\"x\"",
      "except=\"x\"", "except", "params, except=(\"x\")", "params=(\"x\"), except=(\"y\")", "other", "PARAMS",
    ])
  func nothing(line: String) { #expect(Self.rule(line) == nil) }

  @Test("Lines are joined, and different rules have different texts")
  func rules() {
    #expect(Self.rule("key-order", "params=(\"x\")") == Self.rule("key-order, params=(\"x\")"))
    #expect(NoVarySearch(CacheFields()) == nil)
    let rules = ["key-order", "params", "params=(\"x\")", "params=(\"x y\")", "params=(\"x\" \"y\")", "except=(\"x\")"]
    #expect(Set(rules.map { Self.rule($0)?.text }).count == rules.count)
  }
}
