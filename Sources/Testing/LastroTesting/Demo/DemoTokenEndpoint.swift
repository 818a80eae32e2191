// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The route `POST /oauth/token` of the demo API (RFC 6749 §3.2).
package struct DemoTokenEndpoint: Sendable {
  /// An error of RFC 6749 §5.2.
  private struct Refusal: Error, Encodable {
    var error: String
    var explanation: String

    enum CodingKeys: String, CodingKey {
      case error
      case explanation = "error_description"
    }
  }

  package let clientID: String
  package let clientSecret: String
  package let tokens: DemoTokens

  package init(clientID: String, clientSecret: String, tokens: DemoTokens) {
    (self.clientID, self.clientSecret, self.tokens) = (clientID, clientSecret, tokens)
  }

  func respond(to request: LoopbackRequest) throws -> LoopbackResponse {
    guard request.method == "POST" else {
      return try DemoAnswer.failure(405, "Method Not Allowed").adding("Allow", "POST")
    }
    tokens.countRequest()
    let response: LoopbackResponse
    do {
      response = try DemoAnswer.json(grant(Self.form(of: request), request))
    } catch let refusal as Refusal {
      response = try Self.answer(refusal)
    }
    return response.adding("Cache-Control", "no-store").adding("Pragma", "no-cache")
  }

  private static func answer(_ refusal: Refusal) throws -> LoopbackResponse {
    let isClient = refusal.error == "invalid_client"
    let answer = try DemoAnswer.json(refusal, status: isClient ? 401 : 400)
    return isClient ? answer.adding("WWW-Authenticate", #"Basic realm="demo", charset="UTF-8""#) : answer
  }

  private func grant(_ form: [String: String], _ request: LoopbackRequest) throws -> DemoTokens.Grant {
    guard let type = form["grant_type"] else {
      throw Refusal(error: "invalid_request", explanation: "grant_type is missing")
    }
    try authenticate(form, request)
    switch type {
    case "client_credentials": return tokens.grant()
    case "refresh_token":
      guard let token = form["refresh_token"] else {
        throw Refusal(error: "invalid_request", explanation: "refresh_token is missing")
      }
      guard let grant = tokens.grant(for: token) else {
        throw Refusal(error: "invalid_grant", explanation: "the refresh token is unknown, revoked or was used before")
      }
      return grant
    default: throw Refusal(error: "unsupported_grant_type", explanation: "this server does not know \(type)")
    }
  }

  /// Authenticates the client by Basic or in the body, but not both (RFC 6749 §2.3).
  private func authenticate(_ form: [String: String], _ request: LoopbackRequest) throws {
    let inBody = form["client_id"] != nil || form["client_secret"] != nil
    guard let authorization = request.head["Authorization"] else {
      guard form["client_id"] == clientID, form["client_secret"] == clientSecret else { throw Self.unknownClient }
      return
    }
    if form["client_secret"] != nil || (inBody && form["client_id"] != clientID) {
      throw Refusal(error: "invalid_request", explanation: "the client authenticates in two ways")
    }
    let words = authorization.split(separator: " ", maxSplits: 1)
    guard words.count == 2, words[0].lowercased() == "basic", let decoded = Data(base64Encoded: String(words[1])) else {
      throw Self.unknownClient
    }
    let parts = String(decoding: decoded, as: UTF8.self).split(
      separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    // Each half is form-encoded before they are joined (RFC 6749 §2.3.1).
    guard parts.count == 2, Self.formDecoded(parts[0]) == clientID, Self.formDecoded(parts[1]) == clientSecret else {
      throw Self.unknownClient
    }
  }

  private static let unknownClient = Refusal(
    error: "invalid_client", explanation: "the client is unknown, or its secret is wrong")

  // MARK: application/x-www-form-urlencoded

  private static func form(of request: LoopbackRequest) throws -> [String: String] {
    let type = (request.head["Content-Type"] ?? "").prefix { $0 != ";" && $0 != " " }.lowercased()
    guard type == "application/x-www-form-urlencoded" else {
      throw Refusal(error: "invalid_request", explanation: "the body must be application/x-www-form-urlencoded")
    }
    var form: [String: String] = [:]
    for item in request.text.split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = formDecoded(parts[0])
      // A parameter without a value counts as omitted (RFC 6749 §3.2).
      guard parts.count == 2, !parts[1].isEmpty else { continue }
      guard form.updateValue(formDecoded(parts[1]), forKey: name) == nil else {
        throw Refusal(error: "invalid_request", explanation: "\(name) comes more than once")
      }
    }
    return form
  }

  private static func formDecoded(_ text: Substring) -> String {
    LoopbackRequest.percentDecoded(Substring(String(text.map { $0 == "+" ? " " : $0 })))
  }
}
