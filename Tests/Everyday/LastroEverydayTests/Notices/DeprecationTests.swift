// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import Logging
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Deprecated resources (RFC 9745, RFC 8594)", .timeLimit(.minutes(15)))
struct DeprecationTests {
  private static let url = "https://api.example.org/v1/items?page=2"

  private func notice(_ fields: [(String, String)]) throws -> DeprecationNotice? {
    var list = HTTPFields()
    for (name, value) in fields { list.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value)) }
    return DeprecationNotice(ResourceResponse(head: HTTPResponse(status: .ok, headerFields: list), url: Self.url))
  }

  @Test(
    "The date of the RFC and the forms of its drafts are read",
    arguments: [
      ("@1688169599", true, 1_688_169_599), ("true", true, nil), ("?1", true, nil), ("?0", false, nil),
      ("Sun, 06 Nov 1994 08:49:37 GMT", true, 784_111_777), ("soon", false, nil), ("", false, nil), ("@x", false, nil),
    ] as [(String, Bool, Int64?)])
  func dates(value: String, isNotice: Bool, seconds: Int64?) throws {
    let notice = try notice([("Deprecation", value)])
    #expect((notice != nil) == isNotice)
    #expect(notice?.deprecated == seconds.map { .seconds($0) })
  }

  @Test("A sunset, the links and the line of a notice")
  func links() throws {
    let notice = try #require(
      try notice([
        ("Deprecation", "@1688169599"), ("Sunset", "Sun, 30 Jun 2024 23:59:59 GMT"),
        ("Link", #"</docs/v1>; rel="deprecation", </v2/items>; rel=successor-version"#),
      ]))
    #expect(notice.sunset == .seconds(1_719_791_999))
    #expect(
      "\(notice)"
        == """
        the resource is deprecated from Fri, 30 Jun 2023 23:59:59 GMT and ends on Sun, 30 Jun 2024 23:59:59 GMT; its \
        successor is https://api.example.org/v2/items; see https://api.example.org/docs/v1
        """)
    #expect(try self.notice([("Sunset", "never")]) == nil)
    #expect(try self.notice([("X-Sunset", "Sun, 30 Jun 2024 23:59:59 GMT")]) == nil)
  }

  @Test("Each resource is reported once a day, whatever its query, also if the call fails")
  func daily() async throws {
    let reports = Lock<[DeprecationNotice]>([])
    let clock = ManualClock()
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.observers = [.deprecations(nil) { notice in reports.withLock { $0.append(notice) } }]
    let deprecation = try #require(HTTPField.Name("Deprecation"))
    let transport = ScriptedTransport(
      repeatingLast: .answer(404, fields: [deprecation: "@1688169599"], body: ""))
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    for path in ["/a?x=1", "/a?x=2", "/b", "/a"] {
      _ = try? await stack.fetch(try RawHTTPResource.test(url: "https://api.example.org\(path)"))
    }
    #expect(reports.withLock { $0.count } == 2)
    clock.advance(by: .seconds(24 * 3600 + 1))
    _ = try? await stack.fetch(try RawHTTPResource.test(url: "https://api.example.org/a"))
    #expect(reports.withLock { $0.count } == 3)
    #expect(reports.withLock { $0.last?.request } == "GET https://api.example.org/a")
  }

  @Test("The memory of reports is bounded: after a thousand others, a resource is reported again")
  func bounded() async throws {
    let reports = Lock(0)
    var configuration = StackConfiguration()
    configuration.observers = [.deprecations(nil) { _ in reports.withLock { $0 += 1 } }]
    let deprecation = try #require(HTTPField.Name("Deprecation"))
    let transport = ScriptedTransport(repeatingLast: .answer(200, fields: [deprecation: "?1"], body: ""))
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    for number in Array(0...1000) + [0, 0] {
      _ = try await stack.fetch(try RawHTTPResource.test(url: "https://api.example.org/\(number)"))
    }
    #expect(reports.withLock { $0 } == 1002)
  }
}
