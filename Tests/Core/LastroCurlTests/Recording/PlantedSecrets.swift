// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// A request and a response with secrets in every place. Each of them contains the word `planted`.
enum PlantedSecrets {
  static var response: LoopbackResponse {
    LoopbackResponse(
      status: 200,
      headers: [
        "Content-Type": "application/json", "Set-Cookie": "sid=planted-cookie; Path=/",
        "X-Session-Token": "planted-field", "X-Echo": "planted-value in a text",
        "Link": "<https://a.example/?token=planted-link>; rel=next",
      ], body: Array(#"{"name": "Ann", "password": "planted-password", "note": "planted-value"}"#.utf8))
  }

  /// Sends the request.
  static func send(to url: String, by stack: CurlNetworkStack) async throws -> RawAnswer {
    var options = RequestOptions()
    options.secrets = ["planted-value"]
    options.sensitiveHeaders = [try #require(HTTPField.Name("X-Own"))]
    return try await stack.send(
      .post, url + "/planted-value/a?api_key=planted-key&page=2",
      headers: [
        "Authorization": "Bearer planted-token", "Cookie": "sid=planted-jar", "X-Own": "planted-own",
        "Content-Type": "application/json",
      ],
      body: .raw(#"{"client_secret": "planted-body", "city": "Porto"}"#, contentType: "application/json"),
      options: options)
  }
}
