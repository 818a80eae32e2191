// SPDX-License-Identifier: Apache-2.0
// The forms that people write first and that have no meaning. Each fails with the message beside it, which says what to
// write: `.ci/guesses.py` compares.

import Foundation
import HTTPTypes
import Lastro
import LastroCurl

struct User: Codable, Sendable { var name: String }

struct Oops: Error, Decodable, Sendable { var message: String }

func taught(_ s: CurlNetworkStack, url: String, dict: [String: String], pairs: [(String, String)]) async throws {
  let user: User = try await s.fetch(.get(url))  // write .value behind the call
  _ = try await s.get(url)  // write fetch(.get(url))
  _ = try await s.post(url, json: dict)  // write fetch(.post(url, json: value))
  _ = try await s.fetch(.get(url), timeout: .seconds(3))  // options: RequestOptions(timeouts: …)
  _ = try await s.fetch(.get(url, query: dict))  // write query: QueryItems(values)
  _ = try await s.fetch(.get(url, query: pairs, as: User.self))  // write query: QueryItems(values)
  _ = try await s.fetch(.get(url, headers: dict, as: User.self, or: Oops.self))  // headers: RawHeaders(values)
  _ = try await s.fetch(.send(.post, url, body: Data()))  // write body: .raw(value) or try .json(value)
  _ = try await s.fetch(.post(url, json: ["a": 1, "b": "x"]))  // declare a struct that is Encodable
  print(try await s.fetch(.get(url)).response.statusCode)  // renamed to 'status.code'
  // Inherent: a generic type in a cast needs its argument. The guide Errors says that no cast is needed.
  do { _ = try await s.fetch(.get(url)) } catch let error as HTTPFetchError { print(error) }  // requires arguments in <
}

func taughtSettings(_ engine: inout CurlConfiguration) {
  var configuration = StackConfiguration(interceptors: [.standard])  // write .retry
  configuration.userAgent = "x"  // write headers[.userAgent]
  engine.proxy = .none  // renamed to 'connection.proxy'
  engine.maxConnectionsPerHost = 3  // renamed to 'connectionsPerHost'
}
