// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes

/// The response of a token endpoint (RFC 6749 §5.1, §5.2).
struct OAuth2TokenAnswer: Decodable {
  private(set) var accessToken: String?
  private var tokenType: String?
  private var expiresIn: Double?
  private var refreshToken: String?
  private var scope: String?
  private var error: String?
  private var errorDescription: String?
  private var errorURI: String?

  private enum CodingKeys: String, CodingKey {
    case accessToken = "access_token"
    case tokenType = "token_type"
    case expiresIn = "expires_in"
    case refreshToken = "refresh_token"
    case scope, error
    case errorDescription = "error_description"
    case errorURI = "error_uri"
  }

  /// Reads a response. Returns `nil` if the body is not a JSON object.
  init?(_ body: Data) {
    guard let answer = try? JSONDecoder().decode(Self.self, from: body) else { return nil }
    self = answer
  }

  /// Reads the members. A member of a wrong type counts as missing.
  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: CodingKeys.self)
    func text(_ key: CodingKeys) -> String? { try? members.decode(String.self, forKey: key) }
    accessToken = text(.accessToken)
    tokenType = text(.tokenType)
    refreshToken = text(.refreshToken)
    scope = text(.scope)
    error = text(.error)
    errorDescription = text(.errorDescription)
    errorURI = text(.errorURI)
    // Some endpoints send the number as a string. JSON allows no plus sign.
    let digits = text(.expiresIn).flatMap { $0.utf8.first == UInt8(ascii: "+") ? nil : $0 }
    expiresIn = (try? members.decode(Double.self, forKey: .expiresIn)) ?? digits.flatMap(Double.init)
  }

  /// Returns the token of the response.
  ///
  /// - Parameter requested: the scope that was requested.
  func token(scope requested: String?) throws(OAuth2Error) -> AccessToken {
    guard let accessToken else { throw .invalidAnswer("its response has no access_token") }
    guard let tokenType else { throw .invalidAnswer("its response has no token_type") }
    guard let type = AccessToken.supported(tokenType) else { throw .unsupportedTokenType(tokenType.line(40)) }
    // Limit the lifetime to about thirty years: `Duration` traps on values that it cannot represent.
    let lifetime = expiresIn.map { $0.isNaN ? .zero : Duration.seconds(min(max($0, 0), 1e9)) }
    do {
      return try AccessToken(
        Secret(accessToken), expiresIn: lifetime, refreshToken: refreshToken.flatMap { $0.isEmpty ? nil : Secret($0) },
        scope: scope ?? requested, type: type)
    } catch {
      throw .invalidAnswer(error.message)
    }
  }

  /// Throws the refusal if the response is one.
  func throwRefusal(status: HTTPResponse.Status, hiding secrets: [String]) throws(OAuth2Error) {
    guard let error else { return }
    func shown(_ text: String) -> String {
      secrets.reduce(text) { $0.replacing($1, with: Redaction.mask) }.line(500)
    }
    let page = errorURI.map { errorDescription == nil ? shown($0) : " (\(shown($0)))" }
    let details = (errorDescription.map(shown) ?? "") + (page ?? "")
    throw .refused(status, error: shown(error), description: details.isEmpty ? nil : details)
  }
}

extension String {
  /// Returns the beginning of the text on one line.
  fileprivate func line(_ limit: Int) -> String { String(prefix(limit)).escapedForDisplay }
}
