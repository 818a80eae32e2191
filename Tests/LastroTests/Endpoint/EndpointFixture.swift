// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro

/// An endpoint whose parts a test sets.
struct EndpointFixture: HTTPResourceEndpoint {
  var method: HTTPRequest.Method = .get
  var baseURL: URL
  var path: String?
  var queryItems: [URLQueryItem]?
  var headers: RawHeaders?
  var options = RequestOptions()
  var body: @Sendable () throws -> RequestBody? = { nil }

  func makeBody() throws -> RequestBody? { try body() }

  struct BadURL: Error {}

  init(_ base: String, path: String? = nil, items: [URLQueryItem]? = nil) throws {
    guard let url = URL(string: base) else { throw BadURL() }
    baseURL = url
    self.path = path
    queryItems = items
  }

  /// The whole URL on the wire.
  var wire: String { get throws { try makeRequest().wire } }
}

/// An endpoint that leaves everything it can to the defaults.
struct MinimalEndpoint: HTTPResourceEndpoint {
  let method: HTTPRequest.Method = .delete
  let baseURL: URL
}

extension ResourceRequest {
  /// The whole URL on the wire.
  var wire: String { "\(head.scheme ?? "-")://\(head.authority ?? "-")\(head.path ?? "-")" }
}

/// The transport error that `body` throws; `nil` when it throws none.
func transportError(_ body: () throws -> Void) -> TransportError? {
  do {
    try body()
    return nil
  } catch {
    return error as? TransportError
  }
}
