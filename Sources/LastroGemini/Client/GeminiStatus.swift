// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The status of a Gemini response: two digits, of which the first says what to do, and the second why.
///
/// A second digit that is not known means what the first one does, as the specification wants it (§3.2).
public struct GeminiStatus: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// What the first digit says.
  @frozen
  public enum Category: Int, Sendable, Hashable, CaseIterable {
    /// 1x: the server wants a line of text. `meta` is the prompt.
    case input = 1
    /// 2x: a body follows. `meta` is its media type.
    case success
    /// 3x: `meta` is where to go.
    case redirect
    /// 4x: it may work later. `meta` may say why.
    case temporaryFailure
    /// 5x: it will not work. `meta` may say why.
    case permanentFailure
    /// 6x: about the client's certificate. `meta` may say what.
    case clientCertificate
  }

  /// 10 to 69.
  public let rawValue: Int

  /// Wraps a number; `nil` unless it is from 10 to 69.
  public init?(rawValue: Int) {
    guard 10...69 ~= rawValue else { return nil }
    self.rawValue = rawValue
  }

  private init(_ rawValue: Int) { self.rawValue = rawValue }

  /// The first digit.
  public var category: Category { Category(rawValue: rawValue / 10) ?? .permanentFailure }
  /// 2x: a body follows.
  public var isSuccess: Bool { category == .success }
  /// 11 alone.
  public var isSensitiveInput: Bool { self == .sensitiveInput }
  /// The two digits.
  public var description: String { "\(rawValue)" }

  /// 10
  public static let input = Self(10)
  /// 11: what is typed must not be seen, nor kept.
  public static let sensitiveInput = Self(11)
  /// 20
  public static let success = Self(20)
  /// 30
  public static let temporaryRedirect = Self(30)
  /// 31: the old URL should be forgotten.
  public static let permanentRedirect = Self(31)
  /// 40
  public static let temporaryFailure = Self(40)
  /// 41
  public static let serverUnavailable = Self(41)
  /// 42
  public static let cgiError = Self(42)
  /// 43
  public static let proxyError = Self(43)
  /// 44: `meta` is the number of seconds to wait.
  public static let slowDown = Self(44)
  /// 50
  public static let permanentFailure = Self(50)
  /// 51
  public static let notFound = Self(51)
  /// 52
  public static let gone = Self(52)
  /// 53
  public static let proxyRequestRefused = Self(53)
  /// 59
  public static let badRequest = Self(59)
  /// 60
  public static let clientCertificateRequired = Self(60)
  /// 61
  public static let certificateNotAuthorised = Self(61)
  /// 62
  public static let certificateNotValid = Self(62)
}

/// The header of a Gemini response.
public struct GeminiResponseHeader: Sendable, Hashable {
  /// What the server says.
  public var status: GeminiStatus
  /// What stands behind it; may be empty. UTF-8, no control characters, at most 1,024 bytes.
  public var meta: String

  /// Makes a header.
  public init(status: GeminiStatus, meta: String) {
    self.status = status
    self.meta = meta
  }

  /// How long 44 asks to wait; `nil` for other statuses, and where `meta` is not a number of seconds. A day at most.
  public var slowDown: Duration? {
    guard status == .slowDown, !meta.isEmpty, meta.utf8.count <= 18, meta.utf8.allSatisfy(\.isDigit),
      let seconds = Int64(meta)
    else { return nil }
    return .seconds(min(seconds, 86_400))
  }

  /// The media type of the body of a 2x response, `text/gemini; charset=utf-8` where `meta` is empty; `nil` for others.
  public var mediaType: GeminiMediaType? { status.isSuccess ? GeminiMediaType(meta) : nil }
}

/// A media type with its parameters (RFC 2045 §5.1), read leniently.
public struct GeminiMediaType: Sendable, Hashable, CustomStringConvertible {
  /// Such as `text/gemini`, in lower case.
  public var essence: String
  /// Values by names in lower case; of a name that is repeated, the first.
  public var parameters: [String: String] = [:]

  /// Reads a type. Empty text is `text/gemini; charset=utf-8`.
  public init(_ text: String) {
    var parts = Self.split(text)[...]
    essence = String((parts.popFirst() ?? "")[...].withoutBlanks).lowercased()
    for part in parts {
      guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
      let name = part[..<equals].withoutBlanks.lowercased()
      var value = String(part[part.utf8.index(after: equals)...].withoutBlanks)
      if value.utf8.count > 1, value.utf8.first == UInt8(ascii: "\""), value.utf8.last == UInt8(ascii: "\"") {
        value = String(value.dropFirst().dropLast())
      }
      if parameters[name] == nil { parameters[name] = value }
    }
    if essence.isEmpty {
      essence = "text/gemini"
      parameters["charset"] = parameters["charset"] ?? "utf-8"
    }
  }

  /// The character set of a text, in lower case; `utf-8` where none is named.
  public var charset: String { parameters["charset"]?.lowercased() ?? "utf-8" }

  /// The languages of the text (`lang`, BCP 47 tags), as written; `nil` for none.
  public var language: String? { parameters["lang"] }

  /// Type and parameters, sorted by name.
  public var description: String {
    ([essence] + parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }).joined(separator: "; ")
  }

  /// At the semicolons that do not stand within quotes.
  private static func split(_ text: String) -> [String] {
    var parts = [""]
    var isQuoted = false
    for scalar in text.unicodeScalars {
      if scalar == "\"" { isQuoted.toggle() }
      if scalar == ";", !isQuoted {
        parts.append("")
      } else {
        parts[parts.count - 1].unicodeScalars.append(scalar)
      }
    }
    return parts
  }
}
