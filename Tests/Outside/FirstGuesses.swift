// SPDX-License-Identifier: Apache-2.0
// The forms that people write first, of which each compiles. `.ci/guesses.py` type-checks them, and compares the work of
// the compiler with that for FirstGuessesSpelledOut.swift, which has the same calls with their types.

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import LastroResilience

struct User: Codable, Sendable {
  var name: String
  var next: String?
}

struct Oops: Error, Decodable, Sendable { var message: String }

func methods(_ s: CurlNetworkStack, url: String, user: User) async throws {
  let got: User = try await s.fetch(.get(url)).value
  _ = try await s.fetch(.get(url, as: User.self))
  _ = try await s.fetch(.put(url, json: got))
  _ = try await s.fetch(.patch(url, json: user))
  _ = try await s.fetch(.post(url, json: ["a": 1]))
  _ = try await s.fetch(.delete(url))
  _ = try await s.fetch(.head(url))
  try await s.fetch(.get(url))
}

func values(_ s: CurlNetworkStack, url: URL, text: String) async throws {
  _ = try await s.fetch(.get(url))
  _ = try await s.fetch(.get(url, query: ["page": 2, "q": text]))
  _ = try await s.fetch(.get(url, headers: ["X-Trace": text]))
  _ = try await s.fetch(.send(.post, url, body: "hello"))
  for var line in [text] {
    line += "."
    _ = try await s.fetch(.send(.post, url, body: .raw(line)))
  }
  let page: String = try await s.fetch(.text(url)).value
  print(page)
  _ = try ResourceRequest(method: "POST", url: url)
}

func settings(url: String) throws {
  _ = RequestOptions(timeouts: .streaming)
  _ = try CurlNetworkStack(baseURL: url)
  var configuration = StackConfiguration(baseURL: url, interceptors: [.retry])
  configuration.headers["Authorization"] = "x"
  configuration.interceptors = [try .bearer("token", for: "https://api.example.com")]
  configuration.resilience = .init(breaker: .init())
}

func responses(_ s: CurlNetworkStack, url: String) async throws {
  let response = try await s.fetch(.get(url)).response
  print(response.headers, response.headers["ETag"] as Any)
}

func errors(_ s: CurlNetworkStack, url: String) async {
  do {
    _ = try await s.fetch(.get(url, as: User.self, or: Oops.self))
  } catch {
    let typed: HTTPFetchError<Oops> = error
    if error.statusCode == 404 { return }
    if case .http(404, _) = error.reason { return }
    print(typed, error.apiError?.message as Any, error.response?.status as Any)
  }
}

func several(_ s: CurlNetworkStack, url: String) async throws {
  async let user = s.fetch(.get(url, as: User.self))
  print(try await user)
  try await withThrowingTaskGroup(of: User.self) { group in
    for _ in 0..<2 { group.addTask { try await s.fetch(.get(url, as: User.self)).value } }
    for try await user in group { print(user) }
  }
}

func streams(_ s: CurlNetworkStack, url: String) async throws {
  for try await chunk in try await s.stream(.get(url)).value { print(chunk) }
  for try await event in s.events(.get(url)) { print(event) }
  let events: EventStream<ServerSentEvent, TextAPIError> = s.events(.post(url, json: ["a": 1]))
  for try await user in events.decoding(User.self, until: "[DONE]") { print(user) }
  for try await page in s.pages(.get(url, as: User.self), by: .cursor(\.next, into: "after")) { print(page) }
}

func files(_ s: CurlNetworkStack, url: String) async throws {
  _ = try await s.download(.get(url), to: URL(filePath: "/tmp/x"))
  _ = try await s.download(.get(url), to: "/tmp/x") { print($0.fractionReceived ?? 0) }
  _ = try await s.upload(file: "/tmp/x", to: .get(url)) { print($0.fractionSent ?? 0) }
}
