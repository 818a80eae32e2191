// SPDX-License-Identifier: Apache-2.0
// The calls of FirstGuesses.swift with the types that the compiler infers there: the measure of its work.

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
  let got: User = try await s.fetch(HTTPResource<User, TextAPIError>.get(url, as: User.self)).value
  _ = try await s.fetch(HTTPResource<User, TextAPIError>.get(url, as: User.self))
  _ = try await s.fetch(RawHTTPResource.put(url, json: got))
  _ = try await s.fetch(RawHTTPResource.patch(url, json: user))
  _ = try await s.fetch(RawHTTPResource.post(url, json: ["a": 1] as [String: Int]))
  _ = try await s.fetch(RawHTTPResource.delete(url))
  _ = try await s.fetch(RawHTTPResource.head(url))
  try await s.fetch(RawHTTPResource.get(url))
}

func values(_ s: CurlNetworkStack, url: URL, text: String) async throws {
  _ = try await s.fetch(RawHTTPResource.get(url))
  _ = try await s.fetch(
    RawHTTPResource.get(url, query: QueryItems([("page", "2"), ("q", text)] as [(String, String)])))
  _ = try await s.fetch(RawHTTPResource.get(url, headers: RawHeaders(["X-Trace": text] as [String: String])))
  _ = try await s.fetch(RawHTTPResource.send(HTTPRequest.Method.post, url, body: RequestBody.raw("hello")))
  for var line in [text] {
    line += "."
    _ = try await s.fetch(RawHTTPResource.send(HTTPRequest.Method.post, url, body: RequestBody.raw(line)))
  }
  let page: String = try await s.fetch(HTTPResource<String, TextAPIError>.text(url)).value
  print(page)
  _ = try ResourceRequest(method: HTTPRequest.Method.post, url: url)
}

func settings(url: String) throws {
  _ = RequestOptions(timeouts: Timeouts.streaming)
  _ = try CurlNetworkStack(configuration: StackConfiguration(baseURL: url))
  var configuration = StackConfiguration(baseURL: url, interceptors: [StandardInterceptor.retry])
  configuration.headers[RawHeaders.Name("Authorization")] = "x"
  configuration.interceptors = [try StandardInterceptor.bearer("token", for: "https://api.example.com")]
  configuration.resilience = Resilience(breaker: CircuitBreaker())
}

func responses(_ s: CurlNetworkStack, url: String) async throws {
  let response = try await s.fetch(RawHTTPResource.get(url)).response
  print(response.headers, response.headers[RawHeaders.Name("ETag")] as Any)
}

func errors(_ s: CurlNetworkStack, url: String) async {
  do {
    _ = try await s.fetch(HTTPResource<User, Oops>.get(url, as: User.self, or: Oops.self))
  } catch {
    let typed: HTTPFetchError<Oops> = error
    if error.statusCode == HTTPResponse.Status(code: 404) { return }
    if case .http(404, _) = error.reason { return }
    print(typed, error.apiError?.message as Any, error.response?.status as Any)
  }
}

func several(_ s: CurlNetworkStack, url: String) async throws {
  async let user = s.fetch(HTTPResource<User, TextAPIError>.get(url, as: User.self))
  print(try await user)
  try await withThrowingTaskGroup(of: User.self) { group in
    for _ in 0..<2 {
      group.addTask { try await s.fetch(HTTPResource<User, TextAPIError>.get(url, as: User.self)).value }
    }
    for try await user in group { print(user) }
  }
}

func streams(_ s: CurlNetworkStack, url: String) async throws {
  for try await chunk in try await s.stream(RawHTTPResource.get(url)).value { print(chunk) }
  for try await event in s.events(RawHTTPResource.get(url)) { print(event) }
  let events: EventStream<ServerSentEvent, TextAPIError> = s.events(
    HTTPResource<ResponseBody, TextAPIError>.post(url, json: ["a": 1] as [String: Int]))
  for try await user in events.decoding(User.self, until: EventMark("[DONE]")) { print(user) }
  for try await page in s.pages(
    HTTPResource<User, TextAPIError>.get(url, as: User.self), by: Pagination<User>.cursor(\.next, into: "after"))
  { print(page) }
}

func files(_ s: CurlNetworkStack, url: String) async throws {
  _ = try await s.download(RawHTTPResource.get(url), to: URL(filePath: "/tmp/x"))
  _ = try await s.download(RawHTTPResource.get(url), to: "/tmp/x") { (progress: TransferProgress) in
    print(progress.fractionReceived ?? 0)
  }
  _ = try await s.upload(file: "/tmp/x", to: RawHTTPResource.get(url)) { (progress: TransferProgress) in
    print(progress.fractionSent ?? 0)
  }
}
