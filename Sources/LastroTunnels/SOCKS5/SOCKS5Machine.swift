// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The client's half of SOCKS 5 (RFC 1928), with user and password (RFC 1929): bytes in, bytes out.
///
/// It says how many bytes it wants next, and wants none beyond the proxy's last: what follows is the tunnel's.
package struct SOCKS5Machine {
  package enum Step: Equatable {
    /// Exactly so many bytes are wanted next, after `sending`, which may be empty.
    case more(Int, sending: [UInt8])
    /// The tunnel stands.
    case done
  }

  private enum State {
    case method
    case password
    case reply
    /// The length of the name it bound to.
    case boundName
    case boundAddress
  }

  private static let version: UInt8 = 5
  private static let passwordVersion: UInt8 = 1
  private static let noneNeeded: UInt8 = 0
  private static let userAndPassword: UInt8 = 2
  private static let noneAcceptable: UInt8 = 0xFF

  private let request: [UInt8]
  private let login: [UInt8]?
  private var state = State.method

  /// - Throws: stage `request`, code `invalid_option`, for a target or credentials that SOCKS 5 cannot carry.
  package init(host: String, port: Int, user: String? = nil, password: Secret? = nil) throws(TransportError) {
    try self.init(
      NestedTarget(host: host, port: port),
      credentials: user.map { ProxyServer.Credentials(user: $0, password: password ?? "") })
  }

  init(_ target: NestedTarget, credentials: ProxyServer.Credentials?) throws(TransportError) {
    var request: [UInt8] = [Self.version, 1, 0]  // CONNECT, reserved
    switch target.host {
    case .ipv4(let bytes): request += [1] + bytes
    case .name(let name):
      guard name.utf8.count <= 255 else {
        throw .refused(.invalidOption, "the host's name is longer than 255 bytes")
      }
      request += [3, UInt8(name.utf8.count)] + Array(name.utf8)
    case .ipv6(let bytes): request += [4] + bytes
    }
    self.request = request + [UInt8(target.port >> 8), UInt8(target.port & 0xFF)]
    login = try credentials.map { credentials throws(TransportError) in try Self.login(credentials) }
  }

  /// RFC 1929 §2: lengths of one byte, and none of nothing.
  private static func login(_ credentials: ProxyServer.Credentials) throws(TransportError) -> [UInt8] {
    let user = Array(credentials.user.utf8), password = Array(credentials.password.reveal().utf8)
    guard (1...255).contains(user.count), (1...255).contains(password.count) else {
      throw .refused(
        .invalidOption, "user or password cannot be given to a SOCKS 5 proxy",
        hint: "each must have 1 to 255 bytes of UTF-8 (RFC 1929)")
    }
    return [passwordVersion, UInt8(user.count)] + user + [UInt8(password.count)] + password
  }

  /// What to begin with.
  package func start() -> Step {
    let methods = login == nil ? [Self.noneNeeded] : [Self.noneNeeded, Self.userAndPassword]
    return .more(2, sending: [Self.version, UInt8(methods.count)] + methods)
  }

  /// Takes as many bytes as were wanted.
  ///
  /// - Throws: stage `proxy`; the stream is not to be used any more.
  package mutating func receive(_ bytes: [UInt8]) throws(TransportError) -> Step {
    switch state {
    case .method: try readMethod(bytes)
    case .password: try readVerdict(bytes)
    case .reply: try readReply(bytes)
    case .boundName: readBoundName(bytes)
    case .boundAddress: .done
    }
  }

  private mutating func readMethod(_ bytes: [UInt8]) throws(TransportError) -> Step {
    guard bytes[0] == Self.version else {
      throw .socksViolation("it answers with version \(bytes[0])", hint: "is it a SOCKS 5 proxy?")
    }
    switch bytes[1] {
    case Self.noneNeeded:
      state = .reply
      return .more(4, sending: request)
    case Self.userAndPassword:
      guard let login else { throw .socksViolation("it chose a method that was not offered") }
      state = .password
      return .more(2, sending: login)
    case Self.noneAcceptable:
      throw .socksRefusal(
        "it accepts none of the ways to log in", engineCode: Int32(Self.noneAcceptable),
        hint: login == nil ? "give user and password" : "it wants more than user and password")
    default: throw .socksViolation("it chose a method that was not offered")
    }
  }

  private mutating func readVerdict(_ bytes: [UInt8]) throws(TransportError) -> Step {
    guard bytes[0] == Self.passwordVersion else {
      throw .socksViolation("it answers to user and password with version \(bytes[0])")
    }
    guard bytes[1] == 0 else {
      throw .socksRefusal("it does not accept user and password (status \(bytes[1]))", hint: "check both")
    }
    state = .reply
    return .more(4, sending: request)
  }

  private mutating func readReply(_ bytes: [UInt8]) throws(TransportError) -> Step {
    guard bytes[0] == Self.version else { throw .socksViolation("its reply has version \(bytes[0])") }
    guard let reply = SOCKS5Reply(rawValue: bytes[1]) else {
      throw .socksRefusal("unassigned reply \(bytes[1])", engineCode: Int32(bytes[1]))
    }
    guard reply == .succeeded else {
      throw .socksRefusal("\(reply) (reply \(reply.rawValue))", engineCode: Int32(reply.rawValue), hint: reply.hint)
    }
    switch bytes[3] {
    case 1: return bound(4)
    case 4: return bound(16)
    case 3:
      state = .boundName
      return .more(1, sending: [])
    default: throw .socksViolation("its reply has an address of the unknown type \(bytes[3])")
    }
  }

  private mutating func readBoundName(_ bytes: [UInt8]) -> Step { bound(Int(bytes[0])) }

  /// The address and its port: the proxy's business, and read only to get past them.
  private mutating func bound(_ count: Int) -> Step {
    state = .boundAddress
    return .more(count + 2, sending: [])
  }
}

extension TransportError {
  fileprivate static func socksViolation(_ message: String, hint: String? = nil) -> Self {
    Self(
      stage: .proxy, code: .protocolViolation, message: "the SOCKS proxy breaks the protocol: \(message)", hint: hint)
  }

  fileprivate static func socksRefusal(_ message: String, engineCode: Int32? = nil, hint: String? = nil) -> Self {
    Self(
      stage: .proxy, code: .proxyRefused, message: "the SOCKS proxy refused: \(message)", hint: hint,
      engineCode: engineCode)
  }
}
