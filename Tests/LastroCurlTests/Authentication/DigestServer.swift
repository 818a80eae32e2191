// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSupport
import LastroTesting
import Synchronization

/// A server that asks for a digest and checks it by RFC 7616, with a parser of its own.
final class DigestServer: Sendable {
  /// What is asked for.
  struct Rules: Sendable {
    var algorithm = "SHA-256"
    var protection: String? = "auth"
    var hashesUser = false
    /// How often a nonce may be used.
    var uses = Int.max
    /// Whether each answer gives the next nonce.
    var givesNextNonce = false
  }

  static let user = "Jäsøn Doe"
  static let password = "pass: \"word\""
  private static let realm = "a realm"

  let rules: Rules
  private let issued = Atomic(0)
  private let used = Lock<[String: Set<String>]>([:])
  private let faults = Lock<[String]>([])
  private let listener = Lock<LoopbackServer?>(nil)

  init(_ rules: Rules) throws {
    self.rules = rules
    let server = try LoopbackServer.http { [weak self] in self?.answer($0) ?? LoopbackResponse(status: 500) }
    listener.withLock { $0 = server }
  }

  var server: LoopbackServer? { listener.withLock { $0 } }
  /// Why digests were refused, besides their absence and staleness.
  var complaints: [String] { faults.withLock { $0 } }

  func stop() { server?.stop() }

  private func answer(_ request: LoopbackRequest) -> LoopbackResponse {
    guard let field = request.head.values("Authorization").first else { return refusal(stale: false) }
    let sent = Self.parameters(field)
    if let complaint = complaint(about: sent, request) {
      faults.withLock { $0.append(complaint) }
      return refusal(stale: false)
    }
    let nonce = sent["nonce"] ?? ""
    let isFresh = used.withLock { used in
      guard used[nonce, default: []].count < rules.uses else { return false }
      return used[nonce, default: []].insert(sent["nc"] ?? "").inserted
    }
    guard isFresh || rules.protection == nil else { return refusal(stale: true) }
    var information = "rspauth=\"\(proof(sent, request, method: ""))\""
    if rules.givesNextNonce { information += ", nextnonce=\"\(nextNonce())\"" }
    return LoopbackResponse(headers: ["Authentication-Info": information], body: request.body)
  }

  private func nextNonce() -> String { "nonce,\(issued.wrappingAdd(1, ordering: .relaxed).newValue)=" }

  private func refusal(stale: Bool) -> LoopbackResponse {
    var challenge = "Digest realm=\"\(Self.realm)\", nonce=\"\(nextNonce())\", algorithm=\(rules.algorithm)"
    challenge += ", opaque=\"o\", charset=UTF-8"
    if let protection = rules.protection { challenge += ", qop=\"\(protection)\"" }
    if rules.hashesUser { challenge += ", userhash=true" }
    if stale { challenge += ", stale=true" }
    return LoopbackResponse(
      status: 401, headers: ["WWW-Authenticate": "Negotiate", "WWW-Authenticate": "\(challenge), Basic realm=\"x\""])
  }

  private func complaint(about sent: [String: String], _ request: LoopbackRequest) -> String? {
    if sent["realm"] != Self.realm || sent["opaque"] != "o" { return "realm or opaque are not echoed" }
    if sent["uri"] != request.target { return "uri is \(sent["uri"] ?? "") and not \(request.target)" }
    if sent["algorithm"] != rules.algorithm { return "algorithm is \(sent["algorithm"] ?? "missing")" }
    if sent["qop"] != rules.protection { return "qop is \(sent["qop"] ?? "missing")" }
    if rules.protection != nil, sent["nc"]?.utf8.count != 8 { return "nc is \(sent["nc"] ?? "missing")" }
    let user = rules.hashesUser ? hash("\(Self.user):\(Self.realm)") : Self.user
    if (sent["username*"] ?? sent["username"]) != user { return "the user is \(sent["username"] ?? "missing")" }
    return sent["response"] == proof(sent, request, method: request.method) ? nil : "the response is wrong"
  }

  private func proof(_ sent: [String: String], _ request: LoopbackRequest, method: String) -> String {
    var secret = hash("\(Self.user):\(Self.realm):\(Self.password)")
    let nonce = sent["nonce"] ?? ""
    let clientNonce = sent["cnonce"] ?? ""
    if rules.algorithm.hasSuffix("-sess") { secret = hash("\(secret):\(nonce):\(clientNonce)") }
    guard let protection = rules.protection else {
      return hash("\(secret):\(nonce):\(hash("\(method):\(request.target)"))")
    }
    var what = "\(method):\(request.target)"
    if protection == "auth-int" { what += ":" + hash(String(decoding: request.body, as: UTF8.self)) }
    return hash("\(secret):\(nonce):\(sent["nc"] ?? ""):\(clientNonce):\(protection):\(hash(what))")
  }

  private func hash(_ text: String) -> String {
    let algorithm: HashAlgorithm =
      rules.algorithm.hasPrefix("MD5") ? .md5 : rules.algorithm.hasPrefix("SHA-512") ? .sha512_256 : .sha256
    return (try? MessageDigest(of: Array(text.utf8), algorithm).hexadecimal) ?? ""
  }

  /// Good enough for what clients send: pairs at commas outside quotes.
  private static func parameters(_ field: String) -> [String: String] {
    var pairs: [String] = [""]
    var isQuoted = false
    var isEscaped = false
    for character in field.dropFirst("Digest ".count) {
      if character == "\"", !isEscaped { isQuoted.toggle() }
      isEscaped = character == "\\" && !isEscaped
      if character == ",", !isQuoted { pairs.append("") } else { pairs[pairs.count - 1].append(character) }
    }
    var result: [String: String] = [:]
    for pair in pairs {
      guard let equals = pair.firstIndex(of: "=") else { continue }
      let name = String(pair[..<equals].drop { $0 == " " })
      var value = String(pair[pair.index(after: equals)...])
      if name == "username*" {
        value = value.replacing("UTF-8''", with: "").removingPercentEncoding ?? ""
      } else if value.first == "\"" {
        value = String(value.dropFirst().dropLast()).replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
      }
      result[name] = value
    }
    return result
  }
}
