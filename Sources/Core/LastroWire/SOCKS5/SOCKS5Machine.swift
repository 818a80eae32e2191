// SPDX-License-Identifier: Apache-2.0

/// The client's half of SOCKS 5 (RFC 1928), with user and password (RFC 1929), without I/O.
///
/// It reports how many bytes it needs next, and never more than the proxy's reply has: later bytes belong to the
/// tunnel.
package struct SOCKS5Machine: Sendable {
  package enum Step: Equatable, Sendable {
    /// Send `sending`, which may be empty, and then read exactly this many bytes.
    case more(Int, sending: [UInt8])
    /// The tunnel is open.
    case done
  }

  private enum State {
    case method
    case password
    case reply
    /// The length of the name that the proxy is bound to.
    case boundName
    case boundAddress
  }

  private static let version: UInt8 = 5
  private static let passwordVersion: UInt8 = 1
  private static let noneNeeded: UInt8 = 0
  private static let userAndPassword: UInt8 = 2
  /// The method value by which a proxy rejects all offered methods (RFC 1928 §3).
  package static let noneAcceptable: UInt8 = 0xFF

  private let request: [UInt8]
  private let login: [UInt8]?
  private var state = State.method
  private var wanted = 2

  /// Creates a machine.
  ///
  /// - Throws: ``SOCKS5Failure`` of kind `target` or `login` for values that SOCKS 5 cannot encode.
  package init(
    host: SOCKS5Address.Host, port: UInt16, login: (user: [UInt8], password: [UInt8])? = nil
  ) throws(SOCKS5Failure) {
    let start: [UInt8] = [Self.version, 1, 0]  // CONNECT, reserved
    request = start + (try SOCKS5Address(host: host, port: port).bytes())
    if let login {
      self.login = try Self.login(login.user, login.password)
    } else {
      self.login = nil
    }
  }

  /// Encodes user and password (RFC 1929 §2). Both must have 1 to 255 bytes.
  private static func login(_ user: [UInt8], _ password: [UInt8]) throws(SOCKS5Failure) -> [UInt8] {
    guard (1...255).contains(user.count), (1...255).contains(password.count) else {
      throw SOCKS5Failure(.login, "user or password cannot be sent to a SOCKS 5 proxy")
    }
    return [passwordVersion, UInt8(user.count)] + user + [UInt8(password.count)] + password
  }

  /// Returns the first step.
  package func start() -> Step {
    let methods = login == nil ? [Self.noneNeeded] : [Self.noneNeeded, Self.userAndPassword]
    return .more(2, sending: [Self.version, UInt8(methods.count)] + methods)
  }

  /// Processes the requested number of bytes.
  ///
  /// - Throws: ``SOCKS5Failure``. The stream must not be used any more then.
  package mutating func receive(_ bytes: [UInt8]) throws(SOCKS5Failure) -> Step {
    guard bytes.count == wanted else {
      throw .violation("it sent \(bytes.count.counted("byte")) where \(wanted) were wanted")
    }
    switch state {
    case .method: return try readMethod(bytes)
    case .password: return try readVerdict(bytes)
    case .reply: return try readReply(bytes)
    case .boundName: return bound(Int(bytes[0]))
    case .boundAddress: return .done
    }
  }

  private mutating func want(_ count: Int, in next: State, sending bytes: [UInt8] = []) -> Step {
    state = next
    wanted = count
    return .more(count, sending: bytes)
  }

  private mutating func readMethod(_ bytes: [UInt8]) throws(SOCKS5Failure) -> Step {
    guard bytes[0] == Self.version else {
      throw .violation("it answers with version \(bytes[0])", isOtherProtocol: true)
    }
    switch bytes[1] {
    case Self.noneNeeded: return want(4, in: .reply, sending: request)
    case Self.userAndPassword:
      guard let login else { throw .violation("it chose a method that was not offered") }
      return want(2, in: .password, sending: login)
    case Self.noneAcceptable: throw SOCKS5Failure(.noMethod, "it accepts none of the login methods that were offered")
    default: throw .violation("it chose a method that was not offered")
    }
  }

  private mutating func readVerdict(_ bytes: [UInt8]) throws(SOCKS5Failure) -> Step {
    guard bytes[0] == Self.passwordVersion else {
      throw .violation("it answers to user and password with version \(bytes[0])")
    }
    guard bytes[1] == 0 else {
      throw SOCKS5Failure(.loginRefused(bytes[1]), "it does not accept user and password (status \(bytes[1]))")
    }
    return want(4, in: .reply, sending: request)
  }

  private mutating func readReply(_ bytes: [UInt8]) throws(SOCKS5Failure) -> Step {
    guard bytes[0] == Self.version else { throw .violation("its reply has version \(bytes[0])") }
    guard bytes[1] == 0 else { throw SOCKS5Failure(.refused(bytes[1]), "reply \(bytes[1])") }
    switch bytes[3] {
    case 1: return bound(4)
    case 4: return bound(16)
    case 3: return want(1, in: .boundName)
    default: throw .violation("its reply has an address of the unknown type \(bytes[3])")
    }
  }

  /// Skips the bound address and its port, which the client does not need.
  private mutating func bound(_ count: Int) -> Step { want(count + 2, in: .boundAddress) }
}
