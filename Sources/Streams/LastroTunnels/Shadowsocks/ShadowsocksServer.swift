// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A Shadowsocks server: its address, its method and its password.
///
/// Its description and its `dump` contain no password.
///
/// ```swift
/// let server = try ShadowsocksServer("ss://YWVzLTI1Ni1nY206dGVzdC1wYXNzd29yZA@192.0.2.1:8388")
/// ```
public struct ShadowsocksServer: Sendable, Hashable {
  /// The encryption method: the AEAD ciphers of SIP004. Stream ciphers such as `rc4-md5` and `aes-256-cfb` are broken,
  /// and refused; those of 2022 (SIP022) are not supported.
  @nonexhaustive
  public enum Method: String, Sendable, Hashable, CaseIterable {
    /// AES-128-GCM.
    case aes128GCM = "aes-128-gcm"
    /// AES-256-GCM.
    case aes256GCM = "aes-256-gcm"
    /// ChaCha20-Poly1305, which every server supports.
    case chaCha20Poly1305 = "chacha20-ietf-poly1305"

    var cipher: ShadowsocksCipher {
      switch self {
      case .aes128GCM: .aes128GCM
      case .aes256GCM: .aes256GCM
      case .chaCha20Poly1305: .chaCha20Poly1305
      }
    }
  }

  /// The encryption method.
  public let method: Method
  /// The password, which all users of the server share.
  public let password: Secret
  let proxy: ProxyServer
  let key: ShadowsocksKey

  /// The host name or IP address in its canonical form; IPv6 without brackets.
  public var host: String { proxy.host }
  /// The port, 1 to 65,535.
  public var port: Int { proxy.port }

  /// Creates a server.
  ///
  /// - Parameters:
  ///   - host: the host name or IP address.
  ///   - port: 1 to 65,535.
  ///   - method: the encryption method of the server.
  ///   - password: at least one byte of UTF-8.
  /// - Throws: `ConfigurationError` for an invalid host or port, for an empty password, and if libcrypto does not allow
  ///   MD5, which Shadowsocks needs to derive its keys, as under FIPS. It contains no part of the password.
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
  /// The server in the form `ss://aes-256-gcm@192.0.2.1:8388`, without the password.
  public var description: String { "ss://\(method.rawValue)@\(proxy)" }
  /// The same text as ``description``.
  public var debugDescription: String { description }
  /// A mirror with address and method, without the password.
  public var customMirror: Mirror { Mirror(self, children: ["address": "\(proxy)", "method": method.rawValue]) }
}
