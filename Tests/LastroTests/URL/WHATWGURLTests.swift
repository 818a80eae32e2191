// SPDX-License-Identifier: Apache-2.0

import ConformanceData
import FoundationEssentials
import Lastro
import Testing

/// The absolute `http` and `https` URLs of the WHATWG URL standard's test data, as web-platform-tests has it.
@Suite("WHATWG URLs")
struct WHATWGURLTests {
  struct Case: Decodable {
    var input: String
    var base: String?
    var failure: Bool?
    var `protocol`: String?
    var host: String?
    var pathname: String?
    var search: String?

    /// Without fragment and user information, which are never sent; `nil` for a failure.
    var url: String? {
      guard failure != true, let `protocol`, let host, let pathname, let search else { return nil }
      return "\(`protocol`)//\(host)\(pathname)\(search)"
    }

    var isHTTP: Bool {
      base == nil
        && (failure == true ? input.lowercased().hasPrefix("http") : ["http:", "https:"].contains(`protocol`))
    }
  }

  /// The data has comments between its cases.
  enum Entry: Decodable {
    case comment
    case item(Case)

    init(from decoder: any Decoder) throws {
      let isComment = (try? decoder.singleValueContainer().decode(String.self)) != nil
      self = isComment ? .comment : .item(try Case(from: decoder))
    }
  }

  @Test("each is read as the standard says, but for the differences listed")
  func urls() throws {
    let entries = try JSONDecoder().decode([Entry].self, from: ConformanceData.file("url/urltestdata.json"))
    let cases = entries.compactMap { if case .item(let item) = $0, item.isHTTP { item } else { nil } }
    #expect(cases.count == 280)
    var differences: [String: String?] = [:]
    for item in cases {
      var ours: String?
      do {
        let request = try ResourceRequest(url: item.input)
        try RequestCheck.check(request)
        ours = request.wire
      } catch {
        #expect(error.stage == .request && error.code == .invalidURL)
      }
      if ours != item.url { differences[item.input] = .some(ours) }
    }
    let expected = Dictionary(WHATWGDifferences.all.map { ($0.input, $0.ours) }) { first, _ in first }
    #expect(expected.count == WHATWGDifferences.all.count)
    for (input, ours) in differences where expected[input] != .some(ours) {
      Issue.record("\(input.debugDescription) is read as \(ours ?? "nothing"), which is not listed")
    }
    for input in expected.keys where differences[input] == nil {
      Issue.record("\(input.debugDescription) is listed and is no difference")
    }
  }
}
