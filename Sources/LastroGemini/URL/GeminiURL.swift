// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A Gemini URL in the form that is sent: absolute, ASCII, without user information and fragment, 1,024 bytes at most.
///
/// What may be left out when it is written: the scheme (`example.com/x`, `//example.com/x`), the port (1965), the path
/// (`/`). International names become A-labels; what may not stand raw in a URL is percent-encoded as UTF-8, valid
/// percent-encoding stays as written; `.` and `..` are resolved (RFC 3986 §5.2.4). User information is refused, as the
/// specification forbids it; a fragment is for the reader, so it is kept in ``fragment`` and never sent. Control
/// characters are refused.
public struct GeminiURL: Sendable, Hashable {
  /// The port where none is written: 1965.
  public static let defaultPort = 1965
  /// Most bytes a URL may have in a request: 1,024.
  public static let maximumBytes = 1024

  /// Host and port.
  public let authority: GeminiHost
  /// Percent-encoded; starts with `/`.
  public let path: String
  /// Percent-encoded; `nil` for none, which is not the same as an empty one.
  public let query: String?
  /// What followed `#`, percent-encoded. Not sent.
  public let fragment: String?
  /// Whether the query was asked for as sensitive input (status 11): ``description`` masks it then. It masks the path,
  /// too, of URLs to which a server redirected after such input.
  public let isSensitive: Bool
  /// Whether the path may have sensitive input in it.
  let hidesPath: Bool

  /// Reads a URL.
  ///
  /// - Throws: stage `request`; code `invalid_url`, `unsupported_scheme` or `url_too_long`.
  public init(_ text: String) throws(GeminiError) {
    self = try GeminiURLReader.absolute(text)
  }

  /// Reads a URL.
  ///
  /// - Throws: as ``init(_:)-(String)``.
  public init(_ url: URL) throws(GeminiError) { try self.init(url.absoluteString) }

  init(
    authority: GeminiHost, path: String, query: String?, fragment: String?, isSensitive: Bool = false,
    hidesPath: Bool = false
  ) throws(GeminiError) {
    self.authority = authority
    self.path = path
    self.query = query
    self.fragment = fragment
    self.isSensitive = isSensitive
    self.hidesPath = hidesPath
    let count = text.utf8.count
    guard count <= Self.maximumBytes else {
      throw GeminiError(
        stage: .request, code: .urlTooLong,
        message: "the URL has \(count) bytes, above the maximum of \(Self.maximumBytes)",
        hint: "shorten it; each byte of a non-ASCII character takes three, percent-encoded")
    }
  }

  /// The host.
  public var host: HostName { authority.host }
  /// The port.
  public var port: Int { authority.port }

  /// The whole URL as it is sent, sensitive input included; without the default port and the fragment.
  public var text: String { "gemini://\(authority.urlText)\(path)" + (query.map { "?\($0)" } ?? "") }

  /// The text that the query stands for, such as what a user typed; `nil` without a query. A stray `%` stays.
  public var input: String? {
    guard let query else { return nil }
    return query[...].percentDecodedBytes.map { String(decoding: $0, as: UTF8.self) } ?? query
  }

  /// The same URL with an answer to a prompt (status 10 or 11) as its query: percent-encoded as UTF-8, a space as
  /// `%20`.
  ///
  /// - Parameters:
  ///   - input: what was typed.
  ///   - sensitive: whether it must not be seen (status 11). Default false.
  /// - Throws: code `url_too_long`.
  public func answering(_ input: String, sensitive: Bool = false) throws(GeminiError) -> GeminiURL {
    try GeminiURL(
      authority: authority, path: path, query: input.percentEncoded(keeping: .unreserved), fragment: nil,
      isSensitive: sensitive, hidesPath: hidesPath)
  }

  /// What a link of this document, or a redirect from it, means (RFC 3986 §5.2).
  ///
  /// - Throws: as ``init(_:)-(String)``, for one that is no URL.
  public func resolve(_ reference: String) throws(GeminiError) -> GeminiReference {
    try GeminiURLReader.resolve(reference, against: self)
  }

  /// The same, with path and query masked: the server that made them may have put a secret there.
  func masked() throws(GeminiError) -> GeminiURL {
    try GeminiURL(
      authority: authority, path: path, query: query, fragment: fragment, isSensitive: query != nil || isSensitive,
      hidesPath: true)
  }
}

extension GeminiURL: CustomStringConvertible, CustomReflectable {
  /// As ``text``, but sensitive input is masked.
  public var description: String {
    let path = hidesPath && path != "/" ? "/\(Redaction.mask)" : path
    let query = query.map { "?\(isSensitive ? Redaction.mask : $0)" } ?? ""
    return "gemini://\(authority.urlText)\(path)\(query)"
  }

  /// ``description`` alone: the parts may be sensitive.
  public var customMirror: Mirror { Mirror(self, children: ["url": description]) }
}

/// What a link leads to.
public enum GeminiReference: Sendable, Hashable {
  /// A Gemini URL.
  case gemini(GeminiURL)
  /// An absolute URL of another scheme, as written.
  case other(scheme: String, text: String)
}

/// A Gemini host: name and port. What a key is remembered for.
public struct GeminiHost: Sendable, Hashable, CustomStringConvertible {
  /// Its name, or address.
  public let host: HostName
  /// Its port.
  public let port: Int

  /// Makes one.
  ///
  /// - Throws: code `invalid_url` for a port outside 1 to 65,535.
  public init(_ host: HostName, port: Int = GeminiURL.defaultPort) throws(GeminiError) {
    guard 1...65_535 ~= port else {
      throw .invalidURL("port \(port) is out of range (1…65535)", hint: "Gemini's is 1965")
    }
    self.host = host
    self.port = port
  }

  /// `host:port`, an IPv6 address in brackets.
  public var description: String { "\(bracketed):\(port)" }

  var urlText: String { port == GeminiURL.defaultPort ? bracketed : description }

  private var bracketed: String { host.text.bracketedHost }
}

/// A Gemini request: a URL, and nothing else.
public struct GeminiRequest: Sendable, Hashable {
  /// What is asked for.
  public let url: GeminiURL

  /// Makes a request.
  public init(url: GeminiURL) { self.url = url }

  /// Makes a request.
  ///
  /// - Throws: as ``GeminiURL/init(_:)-(String)``.
  public init(url: URL) throws(GeminiError) { self.url = try GeminiURL(url) }

  /// What is sent: the URL and CRLF, 1,026 bytes at most.
  public var data: Data { Data((url.text + "\r\n").utf8) }
}
