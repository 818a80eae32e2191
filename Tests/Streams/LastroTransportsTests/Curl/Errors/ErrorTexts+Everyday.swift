// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

extension ErrorTexts {
  /// What the line of a failed fetch has besides its message.
  static func oneLine() async throws -> Self {
    var texts = Self()
    let page: HTTPFields = [.contentType: "text/html; charset=utf-8"]
    let steps: [ScriptedTransport.Step] = [
      .answer(404, body: #"{"message":"item 999 is unknown"}"#), .answer(500, fields: page, body: "<h1>Oops</h1>"),
      .answer(200, fields: page, body: "<!DOCTYPE html>"), .answer(200, body: #"{"name":1}"#), .answer(304),
      .fail(.response, .connectionLost),
    ]
    for step in steps {
      let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: step))
      let url = "http://a.example/items?page=7&user=ann"
      await texts.provoke { try await stack.fetch(.get(url, as: Model.self, or: APIFailure.self)) }
    }
    return texts
  }

  /// What a stack cannot give to its calls.
  static func defaults() async throws -> Self {
    struct Below: HTTPResourceEndpoint { var path: String? { "items" } }
    struct Elsewhere: HTTPResourceEndpoint {
      func makeRequest() throws -> ResourceRequest { try ResourceRequest(url: "https://b.example/") }
    }
    var texts = Self()
    func fetch(_ endpoint: some HTTPResourceEndpoint, _ edit: (inout StackConfiguration) -> Void) async {
      let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200)), configure: edit)
      await texts.provoke { try await stack.fetch(.raw(endpoint)) }
    }
    await fetch(Below()) { _ in }
    await fetch(Below()) { $0.baseURL = "https://a.example/?x=1" }
    await fetch(Below()) { $0.baseURL = "a.example" }
    await fetch(Below()) { $0.headers = [.authorization: "Bearer t"] }
    await fetch(Elsewhere()) { $0.baseURL = "https://a.example" }
    let client = try OAuth2Client(tokenURL: "https://id.example/token", id: "a", authentication: .none)
    await texts.provoke { try await OAuth2ClientCredentials(client: client).token(replacing: nil) }
    return texts
  }
}
