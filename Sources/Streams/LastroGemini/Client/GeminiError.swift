// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The reason why a Gemini request failed. Statuses from 40 on are responses, not errors.
public struct GeminiError: Error, Sendable, CustomStringConvertible {
  /// The stage at which the request failed.
  public var stage: FailureStage
  /// The stable code of the failure.
  public var code: FailureCode
  /// A readable sentence, without sensitive input.
  public var message: String
  /// A remedy, if there is a usual one.
  public var hint: String?
  /// The URL that was requested at the time of the failure, after redirects; `nil` if there is no URL yet.
  public var url: GeminiURL?
  /// The header of the response, if it arrived before the failure.
  public var header: GeminiResponseHeader?
  /// The URLs of the redirects that were followed, in order.
  public var redirects: [GeminiURL] = []
  /// The old and the new key of a host, for code `certificate_changed`.
  package var certificateChange: GeminiCertificateChange?
  /// The error of the stream or its dialer, if there was one.
  public var cause: TransportError?

  /// Creates an error.
  package init(
    stage: FailureStage, code: FailureCode, message: String, hint: String? = nil, url: GeminiURL? = nil,
    header: GeminiResponseHeader? = nil, cause: TransportError? = nil
  ) {
    (self.stage, self.code, self.message, self.hint) = (stage, code, message, hint)
    (self.url, self.header, self.cause) = (url, header, cause)
  }

  /// Creates an error from one of the stream or its dialer.
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

  /// Stage, code and message on one line.
  public var description: String {
    "\(stage.rawValue)/\(code): \(message)" + (hint.map { " (\($0))" } ?? "")
  }
}

extension FailureCode {
  /// The Gemini URL has more than 1,024 bytes.
  public static let urlTooLong = Self("url_too_long")
  /// The key of the host differs from the known one. Stage `trust`.
  public static let certificateChanged = Self("certificate_changed")
  /// The store of known hosts cannot be read, written, or parsed. Stage `trust`.
  public static let knownHostsFailed = Self("known_hosts_failed")
  /// The response header was not complete within its limit. Stage `timeout`.
  public static let headerTimeout = Self("header_timeout")
  /// A redirect leaves the host or the scheme, and was not allowed. Stage `redirect`.
  public static let redirectRefused = Self("redirect_refused")
}

extension TrustVerdict {
  /// The key was seen for the first time, and was stored.
  public static let firstUse = Self(rawValue: "first_use")
  /// The key equals the known key of the host.
  public static let knownHost = Self(rawValue: "known_host")
  /// The key differs from the known key of the host. It was accepted by decision, or because the old certificate has
  /// expired.
  public static let changedHost = Self(rawValue: "changed_host")
}
