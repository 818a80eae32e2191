// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

/// A Gemini URL in the form that is sent: absolute, ASCII, without user information and fragment, at most 1,024 bytes.
///
/// The text may omit the scheme (`example.com/x`, `//example.com/x`), the port (1965) and the path (`/`). International
/// names are converted to A-labels. Characters that a URL may not contain are percent-encoded as UTF-8, and valid
/// percent-encoding is preserved. `.` and `..` are resolved (RFC 3986 §5.2.4). User information is refused, because the
/// specification forbids it. A fragment is kept, and never sent. Control characters are refused.
public struct GeminiURL: Sendable, Hashable {
  /// The default port: 1965.
  package static let defaultPort = 1965
  /// The maximum size of a URL in a request: 1,024 bytes.
  package static let maximumBytes = 1024

  /// The host and port.
  package let authority: GeminiHost
  /// The percent-encoded path, which starts with `/`.
  public let path: String
  /// The percent-encoded query; `nil` if there is none, which differs from an empty one.
  public let query: String?
  /// The percent-encoded fragment after `#`, which is not sent.
  package let fragment: String?
  /// Whether the query is sensitive input (status 11), which ``description`` masks. It also masks the path of a URL to
  /// which a server redirected after such input.
  package let isSensitive: Bool
  /// Whether the path may contain sensitive input.
  let hidesPath: Bool

  /// Parses a URL.
  ///
  /// - Throws: stage `request`; code `invalid_url`, `unsupported_scheme` or `url_too_long`.
  public init(_ text: String) throws(GeminiError) {
    self = try GeminiURLReader.absolute(text)
  }

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

  /// The whole URL as it is sent, including sensitive input; without the default port and the fragment.
  public var text: String { "gemini://\(authority.urlText)\(path)" + (query.map { "?\($0)" } ?? "") }

  /// The decoded query, such as the input of a user; `nil` without a query. A stray `%` is preserved.
  package var input: String? {
    guard let query else { return nil }
    return query[...].percentDecodedBytes.map { String(decoding: $0, as: UTF8.self) } ?? query
  }

  /// Returns the same URL with the answer to a prompt (status 10 or 11) as its query: percent-encoded as UTF-8, with a
  /// space as `%20`.
  ///
  /// - Parameters:
  ///   - input: the answer of the user.
  ///   - sensitive: whether the answer must be hidden (status 11). Default false.
  /// - Throws: code `url_too_long`.
  public func answering(_ input: String, sensitive: Bool = false) throws(GeminiError) -> GeminiURL {
    try GeminiURL(
      authority: authority, path: path, query: input.percentEncoded(keeping: .unreserved), fragment: nil,
      isSensitive: sensitive, hidesPath: hidesPath)
  }

  /// Resolves a link of this document, or a redirect from it (RFC 3986 §5.2). Returns `nil` for an absolute URL of
  /// another scheme, which is meant for another program.
  ///
  /// - Throws: the errors of ``init(_:)``, if the reference is not a valid URL.
  public func resolve(_ reference: String) throws(GeminiError) -> GeminiURL? {
    try GeminiURLReader.resolve(reference, against: self)
  }

  /// Returns the same URL with path and query masked, because the server may have put a secret there.
  func masked() throws(GeminiError) -> GeminiURL {
    try GeminiURL(
      authority: authority, path: path, query: query, fragment: fragment, isSensitive: query != nil || isSensitive,
      hidesPath: true)
  }
}

extension GeminiURL: CustomStringConvertible, CustomReflectable {
  /// The URL like ``text``, but with sensitive input masked.
  public var description: String {
    let path = hidesPath && path != "/" ? "/\(Redaction.mask)" : path
    let query = query.map { "?\(isSensitive ? Redaction.mask : $0)" } ?? ""
    return "gemini://\(authority.urlText)\(path)\(query)"
  }

  /// A mirror with only ``description``, because the parts may be sensitive.
  public var customMirror: Mirror { Mirror(self, children: ["url": description]) }
}

/// A Gemini request, which consists only of a URL.
public struct GeminiRequest: Sendable, Hashable {
  /// The requested URL.
  public let url: GeminiURL

  /// Creates a request.
  public init(url: GeminiURL) { self.url = url }

  /// Creates a request.
  ///
  /// - Throws: the errors of ``GeminiURL/init(_:)``.
  public init(url: URL) throws(GeminiError) { self.url = try GeminiURL(url.absoluteString) }

  /// The bytes to send: the URL and CRLF, at most 1,026 bytes.
  package var data: Data { Data((url.text + "\r\n").utf8) }
}
