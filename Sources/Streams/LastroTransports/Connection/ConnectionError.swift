// SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import Lastro

/// The reason for the failure of a ``Connection``. It corresponds to `NWError` of Network framework; the Swift
/// Transport API uses `NSError`.
///
/// The three cases from Network framework keep the code of the failing layer. ``cause`` has the stage, message and
/// hint. `error as NSError` has the domain and the code of Network framework.
public enum ConnectionError: Error, Sendable, Hashable, CustomStringConvertible {
  /// An error code with its cause.
  public struct Code: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    /// The number.
    public let rawValue: Int32
    /// The underlying error; `nil` if the code did not come from one.
    public let cause: TransportError?

    /// Creates a code from a number.
    public init(rawValue: Int32) { self.init(rawValue) }
    /// Creates a code from a number.
    public init(integerLiteral value: Int32) { self.init(value) }
    /// Creates a code from a number and a cause.
    package init(_ rawValue: Int32, cause: TransportError? = nil) {
      self.rawValue = rawValue
      self.cause = cause
    }

    /// Compares the numbers; the cause does not count.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.rawValue == rhs.rawValue }
    /// Hashes the number.
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
    /// The number.
    public var description: String { String(rawValue) }
  }

  /// A system error, as an `errno`: `ECONNREFUSED`, `ENETUNREACH`, `ECONNRESET`, `ETIMEDOUT` if a limit passed,
  /// `ECANCELED` after ``Connection/cancel()``.
  case posix(Code)
  /// A name that cannot be resolved. The code is that of `getaddrinfo`; `EAI_NONAME` if the engine reports no other.
  case dns(Code)
  /// A failure of TLS, of the certificate or of its judge. The code is the engine's (`CURLcode`); 0 if it reported
  /// none.
  case tls(Code)
  /// A failure without a code of these kinds.
  case transport(TransportError)
  /// A failure of a framer, or of its input.
  case framer(ProtocolFramer.Failure)

  /// Creates an error of the kind that matches the code of `error`.
  public init(_ error: TransportError) {
    if let code = error.systemCode {
      self = .posix(Code(code, cause: error))
    } else if let code = Self.number(of: error.code) {
      self = .posix(Code(code, cause: error))
    } else if error.stage == .resolve {
      self = .dns(Code(Int32(EAI_NONAME), cause: error))
    } else if error.stage == .tls || error.stage == .trust {
      self = .tls(Code(error.engineCode ?? 0, cause: error))
    } else {
      self = .transport(error)
    }
  }

  private static func number(of code: FailureCode) -> Int32? {
    switch code {
    case .cancelled: ECANCELED
    case .connectTimeout, .idleTimeout, .attemptTimeout, .totalTimeout: ETIMEDOUT
    case .connectionLost: ECONNRESET
    default: nil
    }
  }

  /// The underlying error with stage, message and hint; `nil` if there is none.
  public var cause: TransportError? {
    switch self {
    case .posix(let code), .dns(let code), .tls(let code): code.cause
    case .transport(let error): error
    case .framer: nil
    }
  }

  /// The error as a `TransportError`, for code below or beside the Transport API.
  package var transportError: TransportError {
    if let cause { return cause }
    switch self {
    case .posix(let code):
      var error = TransportError(
        stage: code == .ECANCELED ? .cancelled : code == .ETIMEDOUT ? .timeout : .response,
        code: code == .ECANCELED ? .cancelled : code == .ETIMEDOUT ? .idleTimeout : .connectionLost,
        message: code.words, hint: code.hint, requestSent: true)
      error.systemCode = code.rawValue
      return error
    case .dns(let code):
      return TransportError(
        stage: .resolve, code: .hostNotFound, message: Self.unresolved(code),
        hint: "check the name, and DNS on this machine")
    case .tls(let code):
      return TransportError(
        stage: .tls, code: .handshakeFailed, message: Self.failedTLS(code),
        hint: "the server may not use TLS on this port, or may support none of our versions and ciphers")
    case .transport(let error): return error
    case .framer(let failure):
      return TransportError(
        stage: .response, code: failure.code, message: failure.description,
        hint: "the server's messages, or the framer \(failure.label), are at fault", requestSent: true)
    }
  }

  private static func unresolved(_ code: Code) -> String {
    "cannot resolve the name: \(String(cString: gai_strerror(code.rawValue))) (code \(code))"
  }

  private static func failedTLS(_ code: Code) -> String { "the TLS handshake failed (code \(code))" }

  /// Whether the error results from a local cancellation.
  package var isCancellation: Bool { self == .posix(.ECANCELED) || cause?.code == .cancelled }

  /// A description on one line.
  public var description: String {
    if let cause { return cause.description }
    return switch self {
    case .posix(let code): code.words
    case .dns(let code): Self.unresolved(code)
    case .tls(let code): Self.failedTLS(code)
    case .transport(let error): error.description
    case .framer(let failure): failure.description
    }
  }

  /// Compares kind and code; for ``transport(_:)``, stage and code.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    switch (lhs, rhs) {
    case (.posix(let one), .posix(let other)), (.dns(let one), .dns(let other)), (.tls(let one), .tls(let other)):
      one == other
    case (.transport(let one), .transport(let other)): one.stage == other.stage && one.code == other.code
    case (.framer(let one), .framer(let other)): one == other
    default: false
    }
  }

  /// Hashes domain and code.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(errorDomain)
    hasher.combine(errorCode)
  }
}

extension ConnectionError {
  /// The domain of the bridged `NSError`: `NSPOSIXErrorDomain` for ``posix(_:)``, else `LastroConnectionError` followed
  /// by the kind.
  package var errorDomain: String {
    switch self {
    case .posix: "NSPOSIXErrorDomain"
    case .dns: "LastroConnectionError.dns"
    case .tls: "LastroConnectionError.tls"
    case .transport: "LastroConnectionError.transport"
    case .framer: "LastroConnectionError.framer"
    }
  }

  /// The code of the bridged `NSError`: the number of the code; 0 if there is none.
  package var errorCode: Int {
    switch self {
    case .posix(let code), .dns(let code), .tls(let code): Int(code.rawValue)
    case .transport, .framer: 0
    }
  }

  // Hooks of the standard library: they make `as NSError` work without linking Foundation for it.

  /// The domain of the bridged `NSError`.
  public var _domain: String { errorDomain }
  /// The code of the bridged `NSError`.
  public var _code: Int { errorCode }
}

extension ConnectionError.Code {
  // The names match `POSIXErrorCode` of Network framework.

  /// The connection was cancelled locally.
  public static var ECANCELED: Self { Self(Glibc.ECANCELED) }
  /// A limit passed.
  public static var ETIMEDOUT: Self { Self(Glibc.ETIMEDOUT) }
  /// No server listens at the port.
  public static var ECONNREFUSED: Self { Self(Glibc.ECONNREFUSED) }
  /// The server reset the connection.
  public static var ECONNRESET: Self { Self(Glibc.ECONNRESET) }
  /// The message is longer than the limit.
  public static var EMSGSIZE: Self { Self(Glibc.EMSGSIZE) }
  /// The outgoing direction has already ended.
  public static var EPIPE: Self { Self(Glibc.EPIPE) }
  /// The connection no longer exists.
  public static var ENOTCONN: Self { Self(Glibc.ENOTCONN) }
  /// The send queue is full.
  public static var ENOBUFS: Self { Self(Glibc.ENOBUFS) }

  var words: String { self == .ECANCELED ? "the operation was cancelled" : text }

  var hint: String? {
    switch self {
    case .ECANCELED: nil
    case .ECONNREFUSED: "check host and port, and that the server runs"
    case .EMSGSIZE: "send it in parts"
    case .ENOBUFS: "wait until the queued messages are sent"
    default: "connect again"
    }
  }

  var text: String {
    String(cString: strerror(rawValue)).lowercased()
  }
}
