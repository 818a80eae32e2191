// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroObfuscation

/// A server of Shadowsocks: where it listens, its method and its password.
///
/// Its description, and what `dump` shows, have no password.
///
/// ```swift
/// let server = try ShadowsocksServer("ss://YWVzLTI1Ni1nY206dGVzdC1wYXNzd29yZA@192.0.2.1:8388")
/// ```
public struct ShadowsocksServer: Sendable, Hashable {
  /// How bytes are sealed: the AEAD ciphers of SIP004. Stream ciphers such as `rc4-md5` and `aes-256-cfb` are broken,
  /// and refused; those of 2022 (SIP022) are not supported.
  @nonexhaustive
  public enum Method: String, Sendable, Hashable, CaseIterable {
    /// AES-128 in GCM.
    case aes128GCM = "aes-128-gcm"
    /// AES-256 in GCM.
    case aes256GCM = "aes-256-gcm"
    /// ChaCha20 with Poly1305, which every server has.
    case chaCha20Poly1305 = "chacha20-ietf-poly1305"

    var cipher: ShadowsocksCipher {
      switch self {
      case .aes128GCM: .aes128GCM
      case .aes256GCM: .aes256GCM
      case .chaCha20Poly1305: .chaCha20Poly1305
      }
    }
  }

  /// How bytes are sealed.
  public let method: Method
  /// The password, which every user of the server has.
  public let password: Secret
  let proxy: ProxyServer
  let key: ShadowsocksKey

  /// Name or address, in its canonical form; IPv6 without brackets.
  public var host: String { proxy.host }
  /// Port, 1 to 65,535.
  public var port: Int { proxy.port }

  /// Makes one.
  ///
  /// - Parameters:
  ///   - host: name or address.
  ///   - port: 1 to 65,535.
  ///   - method: how bytes are sealed; the server's.
  ///   - password: one byte of UTF-8 at least.
  /// - Throws: `ConfigurationError` for a host or a port that is not valid, for an empty password, and where libcrypto
  ///   refuses MD5, of which Shadowsocks makes its keys, as FIPS does. It shows nothing of the password.
  public init(host: String, port: Int, method: Method, password: Secret) throws(ConfigurationError) {
    guard !password.isEmpty else {
      throw ConfigurationError("the Shadowsocks server has no password", hint: "give the password of the server")
    }
    do throws(TransportError) {
      _ = try NestedTarget(host: host, port: port)
    } catch {
      throw ConfigurationError("the Shadowsocks server's address is not valid: \(error.message)", hint: error.hint)
    }
    proxy = try ProxyServer(host: host, port: port)
    self.method = method
    self.password = password
    do throws(ShadowsocksFailure) {
      key = try ShadowsocksKey(password: Array(password.reveal().utf8), cipher: method.cipher)
    } catch {
      throw error.configuring
    }
  }
}

extension ShadowsocksServer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Such as `ss://aes-256-gcm@192.0.2.1:8388`; the password is never in it.
  public var description: String { "ss://\(method.rawValue)@\(proxy)" }
  /// As ``description``.
  public var debugDescription: String { description }
  /// Address and method, without the password.
  public var customMirror: Mirror { Mirror(self, children: ["address": "\(proxy)", "method": method.rawValue]) }
}
