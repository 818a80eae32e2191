// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroHAR
import LastroSupport
import LastroTesting

/// Responses from an HTTP archive, by method, path and the best matching query. The host is ignored.
final class MockArchive: Sendable {
  /// A recorded exchange that can be served.
  private struct Exchange: Sendable {
    let method: String
    let path: String
    let query: [Substring]
    let response: LoopbackResponse
  }

  private let exchanges: [Exchange]
  /// The number of times that each exchange was served.
  private let uses: Lock<[Int]>

  init(_ archive: HAR) {
    let origins = Set(archive.log.entries.compactMap { try? Origin($0.request.url) })
    exchanges = archive.log.entries.compactMap { entry -> Exchange? in
      guard (200...599).contains(entry.response.status) else { return nil }
      let target = MockTarget(url: entry.request.url)
      return Exchange(
        method: entry.request.method, path: target.path, query: target.query, response: Self.response(entry, origins))
    }
    uses = Lock([Int](repeating: 0, count: exchanges.count))
  }

  var count: Int { exchanges.count }

  /// Returns the response of the exchange that is most like the request. Of several equal ones, each is served in turn,
  /// and the last one repeatedly.
  func response(to request: LoopbackRequest) -> LoopbackResponse {
    let asked = MockTarget(target: request.target)
    let method = request.method == "HEAD" ? ["HEAD", "GET"] : [request.method]
    let found = exchanges.indices.filter { index in
      method.contains(exchanges[index].method) && HARMatcher.matches(asked.path, exchanges[index].path)
    }
    guard !found.isEmpty else {
      let known = Set(exchanges.map { "\($0.method) \($0.path)" }).sorted().prefix(10).joined(separator: ", ")
      return .refusal(404, "no exchange was recorded for \(request.method) \(asked.path); there are: \(known)")
    }
    let best = found.map { Self.likeness(asked.query, exchanges[$0].query) }.max() ?? 0
    let equal = found.filter { Self.likeness(asked.query, exchanges[$0].query) == best }
    let chosen = uses.withLock { uses in
      let next = equal.first { uses[$0] == 0 } ?? equal[equal.count - 1]
      uses[next] += 1
      return next
    }
    return exchanges[chosen].response
  }

  /// Returns the number of items that two queries share, less those that only one has.
  private static func likeness(_ asked: [Substring], _ recorded: [Substring]) -> Int {
    let shared = asked.count { item in recorded.contains { HARMatcher.matches(String(item), String($0)) } }
    return 3 * shared - asked.count - recorded.count
  }

  private static func response(_ entry: HAR.Entry, _ origins: Set<Origin>) -> LoopbackResponse {
    let recorded = entry.response
    guard recorded.content.isTruncated != true, let body = recorded.content.data else {
      return .refusal(500, "the body of this exchange was not recorded")
    }
    var response = LoopbackResponse(status: recorded.status, body: Array(body))
    for field in recorded.headers {
      // A name or value that is not valid, such as a pseudo-header field of a browser, would break the head.
      guard let name = MockTarget.field(field.name), MockTarget.isValue(field.value) else { continue }
      let isLocation = name.lowercased() == "location"
      response = response.adding(
        name, isLocation ? LocalLocation.text(field.value, from: entry.request.url, origins: origins) : field.value)
    }
    return response
  }
}

/// The path and the query of a request.
struct MockTarget {
  let path: String
  let query: [Substring]

  /// The fields of a connection and the length, which each connection sets for itself (RFC 9110 §7.6.1).
  static let connection: Set = [
    "connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]
  /// The fields of responses that are not served: those of the connection, of the coding of a body that is served
  /// decoded, and of the real server's own address.
  static let framing = connection.union(["alt-svc", "content-encoding", "strict-transport-security"])

  /// Returns the lower-case names of fields that `Connection` names.
  static func named(by connection: [String]) -> Set<String> {
    Set(
      connection.flatMap { $0.split(separator: ",") }.map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() })
  }

  init(target: String) {
    let whole = target.prefix { $0 != "#" }
    path = String(whole.prefix { $0 != "?" })
    query = whole.drop { $0 != "?" }.dropFirst().split(separator: "&")
  }

  init(url: String) {
    let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
    let target = url[start...].drop { $0 != "/" && $0 != "?" }
    self.init(target: target.hasPrefix("/") ? String(target) : "/" + target)
  }
}

extension LoopbackResponse {
  /// Returns a response with an error of the server itself, as JSON.
  static func refusal(_ status: Int, _ message: String) -> LoopbackResponse {
    .json(JSONValue.object(["error": .string(message.onOneLine)]).text, status: status)
  }
}

extension JSONValue {
  /// The value as JSON with sorted keys.
  var text: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
  }
}
