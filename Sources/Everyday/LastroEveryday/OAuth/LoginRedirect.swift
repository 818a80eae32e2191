// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

/// Decides which request to the loopback port of a login is the redirect of the authorization server (RFC 6749 §4.1.2).
///
/// Anybody on this machine, and any page in its browser, may send requests to the port. Only one that has the login's
/// `state` counts, and it ends the wait.
struct LoginRedirect: Sendable {
  enum Verdict: Sendable {
    /// The head of the request is not complete.
    case incomplete
    /// The request does not belong to the login.
    case refused(HTTPResponse.Status)
    /// The request is the redirect, with the code or the reason why there is none.
    case accepted(Result<Secret, OAuth2LoginError>)
  }

  static let mostHeadBytes = 16 * 1024

  let path: String
  let state: Secret
  let issuer: String?
  let announcesIssuer: Bool

  /// Decides about the bytes of a request that have arrived.
  func verdict(on bytes: [UInt8]) -> Verdict {
    guard bytes.count <= Self.mostHeadBytes else {
      return .refused(.requestHeaderFieldsTooLarge)
    }
    guard bytes.endsHead else { return .incomplete }
    let line = bytes.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
    let parts = String(decoding: line, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[2].hasPrefix("HTTP/1."), parts[1].hasPrefix("/") else { return Self.badRequest }
    let target = parts[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard target[0] == path else { return .refused(.notFound) }
    guard parts[0] == "GET" else { return .refused(.methodNotAllowed) }
    guard let fields = Self.fields(target.count > 1 ? target[1] : ""), let found = fields["state"], found.count == 1,
      found[0].equalsInConstantTime(state.reveal())
    else { return Self.badRequest }
    return .accepted(Result { () throws(OAuth2LoginError) -> Secret in try code(fields) })
  }

  private static let badRequest = Verdict.refused(.badRequest)

  /// Returns the code of a redirect whose `state` is that of the login.
  private func code(_ fields: [String: [String]]) throws(OAuth2LoginError) -> Secret {
    if let name = ["code", "error", "iss"].first(where: { (fields[$0]?.count ?? 0) > 1 }) {
      throw .invalidAnswer("its redirect has \(name) more than once")
    }
    if let issuer {
      let found = fields["iss"]?.first
      guard found.map({ $0.utf8.elementsEqual(issuer.utf8) }) ?? !announcesIssuer else {
        throw .wrongIssuer(expected: issuer, found: found)
      }
    }
    if let error = fields["error"]?.first {
      let description = fields["error_description"]?.first
      throw .refused(
        error: String(error.prefix(40)).escapedForDisplay,
        description: description.map { String($0.prefix(500)).escapedForDisplay })
    }
    guard let code = fields["code"]?.first, !code.isEmpty else {
      throw .invalidAnswer("its redirect has neither a code nor an error")
    }
    return Secret(code)
  }

  /// Returns the values of each name of a query in the form of HTML; `nil` if one is not percent-encoded UTF-8.
  private static func fields(_ query: Substring) -> [String: [String]]? {
    var fields: [String: [String]] = [:]
    for item in query.split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { part in
        part.replacing("+", with: " ")[...].percentDecodedBytes.flatMap { String(validating: $0, as: UTF8.self) }
      }
      guard let name = parts[0], let value = parts.count > 1 ? parts[1] : "" else { return nil }
      fields[name, default: []].append(value)
    }
    return fields
  }
}

extension [UInt8] {
  /// Whether the bytes have the empty line that ends the head of a request.
  fileprivate var endsHead: Bool {
    withUnsafeBufferPointer { bytes in
      bytes.indices.dropFirst(3).contains { end in
        bytes[end] == UInt8(ascii: "\n") && bytes[end - 1] == UInt8(ascii: "\r") && bytes[end - 2] == UInt8(ascii: "\n")
          && bytes[end - 3] == UInt8(ascii: "\r")
      }
    }
  }
}

extension String {
  /// Compares texts in a time that depends on their lengths only.
  fileprivate func equalsInConstantTime(_ other: String) -> Bool {
    utf8.count == other.utf8.count && zip(utf8, other.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
