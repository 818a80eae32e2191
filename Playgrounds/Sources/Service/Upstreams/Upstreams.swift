// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroTesting

/// The servers that the shop depends on, on this machine: the stock server, which is essential, a price server, and two
/// interchangeable rate servers.
struct Upstreams: Sendable {
  let prices: Upstream
  let stock: Upstream
  let rates: [Upstream]
  let tokens = IssuedTokens()

  /// The price server's certificate, and the certificate of its backup key. Both keys are pinned.
  let key: MintedCertificate
  let backup: MintedCertificate
  /// The certificate whose key the server uses once the shop has pinned it.
  let next: MintedCertificate
  /// A certificate of the same authority whose key is not pinned.
  let impostor: MintedCertificate
  private let rootPEM: String

  init() throws {
    let root = try CertificateAuthority(commonName: "Example Root")
    rootPEM = root.rootPEM
    let host = "prices.example.com"
    key = try root.issue(hosts: [host], days: 0...47)
    backup = try root.issue(hosts: [host], days: 0...47)
    next = try root.issue(hosts: [host], days: 0...47)
    impostor = try root.issue(hosts: [host], days: 0...47)
    prices = try Upstream(host, key) { [tokens] request in Self.price(request, tokens) }
    stock = try Upstream("stock.example.com", root.issue(hosts: ["stock.example.com"])) { Self.stock($0) }
    rates = try ["eu.rates.example.com", "us.rates.example.com"].map { host in
      try Upstream(host, root.issue(hosts: [host])) { _ in .json(#"{"rate":1.25}"#) }
    }
  }

  var all: [Upstream] { [prices, stock] + rates }

  func heal() throws {
    for upstream in all { try upstream.turn(.healthy) }
  }

  func stop() { for upstream in all { upstream.server.stop() } }

  /// Returns the settings that the shop needs to reach the servers.
  func settings(time: TimeSource = .continuous) throws -> ShopSettings {
    var connection = ConnectionOptions()
    connection.proxy = .none
    connection.tls.roots = .pem(Array(rootPEM.utf8))
    for upstream in all { connection.resolve(upstream.host, port: upstream.server.port, to: ["127.0.0.1"]) }
    return ShopSettings(
      prices: try url(prices.baseURL), stock: try url(stock.baseURL), rates: rates.map(\.baseURL),
      client: IssuedTokens.client, secret: Secret(IssuedTokens.secret),
      pins: [try key.pin.description, try backup.pin.description], connection: connection, time: time)
  }

  private func url(_ text: String) throws -> URL {
    guard let url = URL(string: text) else { throw ConfigurationError("\(text) is not a URL") }
    return url
  }

  private static func price(_ request: LoopbackRequest, _ tokens: IssuedTokens) -> LoopbackResponse {
    if request.path == "/oauth/token" { return tokens.answer(request) }
    guard tokens.isGood(request.headers["Authorization"]) else { return .text("who are you?", status: 401) }
    return .json(#"{"cents":480}"#)
  }

  private static func stock(_ request: LoopbackRequest) -> LoopbackResponse {
    let kept = LoopbackResponse(status: 304)
    let answer = request.headers["If-None-Match"] == "\"12\"" ? kept : .json(#"{"count":12}"#)
    return answer.adding("ETag", "\"12\"").adding("Cache-Control", "max-age=5, stale-if-error=86400")
  }
}
