// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroSupport

/// A rule of curl's `HOST:PORT:OTHERHOST:OTHERPORT` to connect elsewhere. An empty word matches any host or port, or
/// keeps the original one. The TLS name, `Host`, pins and cookies remain those of the URL.
struct ConnectTo: Sendable {
  private let host: String
  private let port: Int?
  private let otherHost: String
  private let otherPort: Int?

  init(_ text: String) throws(ConfigurationError) {
    var rest = text[...]
    let words = [Self.word(&rest), Self.word(&rest), Self.word(&rest), String(rest)]
    guard text.filter({ $0 == ":" }).count >= 3, let port = Self.port(words[1]), let otherPort = Self.port(words[3])
    else {
      throw ConfigurationError(
        "--connect-to \(text.onOneLine) cannot be parsed", hint: "write HOST:PORT:OTHERHOST:OTHERPORT")
    }
    self.port = port == 0 ? nil : port
    self.otherPort = otherPort == 0 ? nil : otherPort
    (host, otherHost) = (words[0].lowercased(), words[2])
  }

  /// Returns the port; 0 for an empty word, and `nil` for an invalid one.
  private static func port(_ word: String) -> Int? {
    word.isEmpty ? 0 : Int(digits: word).flatMap { (1...65_535).contains($0) ? $0 : nil }
  }

  /// Removes and returns the text up to a colon, and the colon. An IPv6 address is in brackets.
  private static func word(_ rest: inout Substring) -> String {
    if rest.first == "[", let end = rest.firstIndex(of: "]") {
      let word = rest[rest.index(after: rest.startIndex)..<end]
      rest = rest[rest.index(after: end)...].dropFirst()
      return String(word)
    }
    let word = rest.prefix { $0 != ":" }
    rest = rest[word.endIndex...].dropFirst()
    return String(word)
  }

  /// Returns the host and the port to connect to; `nil` if the rule does not match.
  func target(_ host: String, _ port: Int) -> (host: String, port: Int)? {
    guard self.host.isEmpty || self.host == host.lowercased(), (self.port ?? port) == port else { return nil }
    return (otherHost.isEmpty ? host : otherHost, otherPort ?? port)
  }
}

/// A dialer that connects elsewhere, by the first rule that matches a host.
struct ElsewhereDialer: Dialer {
  let base: any Dialer
  let rules: [ConnectTo]

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    var request = request
    if let target = rules.lazy.compactMap({ $0.target(request.host, request.port) }).first {
      // SNI and the certificate's name remain those of the URL.
      if request.tls != nil, request.tls?.serverName == nil { request.tls?.serverName = request.host }
      (request.host, request.port) = target
    }
    return try await base.dial(request)
  }

  func checkPlaintext(_ request: DialRequest) throws(TransportError) { try base.checkPlaintext(request) }
  func trustRevisions(for request: DialRequest) -> [UInt64] { base.trustRevisions(for: request) }
}
