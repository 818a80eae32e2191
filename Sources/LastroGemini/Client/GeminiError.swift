// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// Why a Gemini request failed. Statuses from 40 on are answers, and no errors.
public struct GeminiError: Error, Sendable, CustomStringConvertible {
  private struct Parts: Sendable {
    var stage: FailureStage
    var code: FailureCode
    var message: String
    var hint: String?
    var url: GeminiURL?
    var header: GeminiResponseHeader?
    var redirects: [GeminiURL] = []
    var certificateChange: GeminiCertificateChange?
    var cause: TransportError?
  }

  private var parts: CopyOnWrite<Parts>

  /// Where in the flow it failed.
  public var stage: FailureStage {
    get { parts.value.stage }
    _modify { yield &parts.value.stage }
  }
  /// Why, as a stable word.
  public var code: FailureCode {
    get { parts.value.code }
    _modify { yield &parts.value.code }
  }
  /// One readable sentence, free of sensitive input.
  public var message: String {
    get { parts.value.message }
    _modify { yield &parts.value.message }
  }
  /// How to fix it, where there is a usual remedy.
  public var hint: String? {
    get { parts.value.hint }
    _modify { yield &parts.value.hint }
  }
  /// What was asked for when it failed, after redirects; `nil` where there is no URL yet.
  public var url: GeminiURL? {
    get { parts.value.url }
    _modify { yield &parts.value.url }
  }
  /// The header of the response, where it had come before the failure.
  public var header: GeminiResponseHeader? {
    get { parts.value.header }
    _modify { yield &parts.value.header }
  }
  /// The URLs that redirects had led to, in order.
  public var redirects: [GeminiURL] {
    get { parts.value.redirects }
    _modify { yield &parts.value.redirects }
  }
  /// The old and the new key of a host, for code `certificate_changed`.
  public var certificateChange: GeminiCertificateChange? {
    get { parts.value.certificateChange }
    _modify { yield &parts.value.certificateChange }
  }
  /// What the stream or its dialer reported, where it did.
  public var cause: TransportError? {
    get { parts.value.cause }
    _modify { yield &parts.value.cause }
  }

  /// Makes an error.
  public init(
    stage: FailureStage, code: FailureCode, message: String, hint: String? = nil, url: GeminiURL? = nil,
    header: GeminiResponseHeader? = nil, cause: TransportError? = nil
  ) {
    parts = CopyOnWrite(
      Parts(stage: stage, code: code, message: message, hint: hint, url: url, header: header, cause: cause))
  }

  /// What the stream, or its dialer, reported.
  init(_ cause: TransportError, url: GeminiURL?) {
    self.init(
      stage: cause.stage, code: cause.code, message: cause.message, hint: cause.hint, url: url, cause: cause)
  }

  static func invalidURL(_ message: String, hint: String? = nil) -> Self {
    Self(stage: .request, code: .invalidURL, message: message, hint: hint)
  }

  static func cancelled(url: GeminiURL?) -> Self {
    Self(stage: .cancelled, code: .cancelled, message: "the request was cancelled", url: url)
  }

  /// One line: stage, code and message.
  public var description: String {
    "\(stage.rawValue)/\(code): \(message)" + (hint.map { " (\($0))" } ?? "")
  }
}

extension FailureCode {
  /// A Gemini URL of more than 1,024 bytes.
  public static let urlTooLong = Self("url_too_long")
  /// The host's key is another than the one it is known by. Stage `trust`.
  public static let certificateChanged = Self("certificate_changed")
  /// The store of known hosts cannot be read, written, or understood. Stage `trust`.
  public static let knownHostsFailed = Self("known_hosts_failed")
  /// No complete response header within its limit. Stage `timeout`.
  public static let headerTimeout = Self("header_timeout")
  /// A redirect that leaves the host, or the scheme, and was not allowed. Stage `redirect`.
  public static let redirectRefused = Self("redirect_refused")
}

extension TrustVerdict {
  /// The key was seen for the first time, and is remembered from now on.
  public static let firstUse = Self(rawValue: "first_use")
  /// The key is the one that the host is known by.
  public static let knownHost = Self(rawValue: "known_host")
  /// The key is another than the one that the host is known by, and was accepted by decision or after the old one's
  /// expiry.
  public static let changedHost = Self(rawValue: "changed_host")
}
