// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Lastro
import Testing

/// The cases of RFC 6570's test suite that consist of a path segment, or of query items with text.
@Suite("RFC 6570")
struct URITemplateTests {
  enum Value: Decodable {
    case text(String)
    case other

    init(from decoder: any Decoder) throws {
      self = (try? decoder.singleValueContainer().decode(String.self)).map(Value.text) ?? .other
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }
  }

  struct Section: Decodable {
    var variables: [String: Value]
    var testcases: [[Value]]
  }

  static let files = ["spec-examples.json", "spec-examples-by-section.json", "extended-tests.json"]

  struct Case {
    var template: String
    var expansion: String
    /// The text before the expression, without variables.
    var literal: String
    /// The expression's variables, in order.
    var values: [(name: String, value: String)]
  }

  /// Returns the cases whose template ends in its only expression. That expression has this operator and text
  /// variables.
  static func cases(operator prefix: String) throws -> [Case] {
    var result: [Case] = []
    for file in files {
      let sections = try JSONDecoder().decode(
        [String: Section].self, from: ConformanceData.file("uritemplate/" + file))
      for section in sections.values {
        for testcase in section.testcases {
          guard let template = testcase.first?.text, let expansion = testcase.last?.text,
            let open = template.firstIndex(of: "{"), template[open...].hasPrefix("{" + prefix),
            template.firstIndex(of: "}") == template.index(before: template.endIndex)
          else { continue }
          let names = template[open...].dropFirst(1 + prefix.count).dropLast().split(separator: ",").map(String.init)
          let values = names.compactMap { name in section.variables[name]?.text.map { (name, $0) } }
          guard values.count == names.count else { continue }
          result.append(
            Case(template: template, expansion: expansion, literal: String(template[..<open]), values: values))
        }
      }
    }
    return result
  }

  @Test("{name} expands to a path segment")
  func segments() throws {
    let cases = try Self.cases(operator: "").filter { $0.values.count == 1 && $0.literal.isEmpty }
    #expect(cases.count == 9)
    for item in cases {
      #expect(item.values[0].value.pathSegment == item.expansion, "\(item.template)")
    }
  }

  @Test("{?names} expands to query items")
  func query() throws {
    let cases = try Self.cases(operator: "?")
    #expect(cases.count == 11)
    for item in cases {
      // Names in a template are encoded already, whereas items take plain names.
      let items = item.values.map { URLQueryItem(name: $0 == "Stra%C3%9Fe" ? "Straße" : $0, value: $1) }
      let path = item.literal.isEmpty ? "/" : ""
      #expect(
        try EndpointFixture("http://h" + item.literal, items: items).wire == "http://h" + path + item.expansion,
        "\(item.template)")
    }
  }

  @Test("{&names} expands to query items after those of the base")
  func continuation() throws {
    let cases = try Self.cases(operator: "&")
    #expect(cases.count == 6)
    for item in cases {
      let items = item.values.map { URLQueryItem(name: $0, value: $1) }
      let fixed = item.literal.isEmpty ? "?fixed=yes" : ""
      #expect(
        try EndpointFixture("http://h/p" + item.literal + fixed, items: items).wire == "http://h/p" + fixed
          + item.expansion,
        "\(item.template)")
    }
  }
}
