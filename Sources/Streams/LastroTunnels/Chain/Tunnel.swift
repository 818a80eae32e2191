// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

/// Dialers that tunnel through the streams of another dialer: SOCKS 5, HTTP CONNECT, meek, obfs4 (Wisp) and
/// Shadowsocks.
///
/// Each function returns a dialer; the proxy or server is first contacted by the first dial. ``ViaChain`` makes the
/// same dialers of texts, such as a bridge line.
///
/// ```swift
/// let proxy = try Tunnel.socks5(host: "proxy.example.org", port: 1080, over: engine)
/// let dialer = proxy.addingTLS()
/// ```
///
/// - A tunnel carries bytes: call `addingTLS()` on it for TLS with the host. A request for TLS or datagrams is refused
///   with code `unsupported`, and a Unix socket with `invalid_option`.
/// - Dialing throws `TransportError`. Stage `proxy` has code `proxy_not_found` or `proxy_connect_failed` if the proxy
///   or server cannot be reached, and `proxy_refused` if it refuses or closes the connection. Other errors are those of
///   the dialer below.
/// - `checkPlaintext` and `trustRevisions` are those of the dialer below.
public enum Tunnel {
  /// The way writes are split and delayed: obfs4's `iat-mode`. Each end has its own setting; the two need not agree.
  public enum WispTiming: Int, Sendable, Hashable, CaseIterable {
    /// 0: each write is padded to a random length, and sent at once.
    case immediate = 0
    /// 1: pieces of at most 1,448 bytes, each followed by a random pause of at most 10 ms.
    case paused = 1
    /// 2: pieces of random lengths, each followed by a random pause of at most 10 ms. This is the slowest mode.
    case paranoid = 2
  }

  /// The encryption method of a Shadowsocks server: the AEAD ciphers of SIP004. Stream ciphers such as `rc4-md5` and
  /// `aes-256-cfb` are broken, and refused; those of 2022 (SIP022) are not supported.
  @nonexhaustive
  public enum ShadowsocksMethod: String, Sendable, Hashable, CaseIterable {
    /// AES-128-GCM.
    case aes128GCM = "aes-128-gcm"
    /// AES-256-GCM.
    case aes256GCM = "aes-256-gcm"
    /// ChaCha20-Poly1305, which every server supports.
    case chaCha20Poly1305 = "chacha20-ietf-poly1305"
  }

  /// Returns a tunnel through a SOCKS 5 proxy (RFC 1928), without authentication or with user and password (RFC 1929).
  ///
  /// The proxy resolves names (curl calls this `socks5h`), so the host does not appear in local DNS queries. IPv4 and
  /// IPv6 addresses are sent as addresses. Fixed resolutions of a request apply only to the proxy's own name.
  ///
  /// A refusal has the reply of RFC 1928 as `engineCode`; a response that is not SOCKS 5 has code `protocol_violation`.
  ///
  /// - Parameters:
  ///   - host: the host name or IP address of the proxy.
  ///   - port: the port of the proxy, 1 to 65,535.
  ///   - login: the user, which may appear in logs, and the password, each 1 to 255 bytes long. Default `nil`: the
  ///     proxy requires none.
  ///   - below: the dialer that reaches the proxy: directly, or through another tunnel.
  /// - Throws: `ConfigurationError` for an invalid host, port, user or password.
  public static func socks5(
    host: String, port: Int, login: (user: String, password: Secret)? = nil, over below: any Dialer
  ) throws(ConfigurationError) -> any Dialer {
    try SOCKS5Dialer(proxy: proxy(host, port, login), over: below)
  }

  /// Returns a tunnel through an HTTP proxy by CONNECT (RFC 9110 §9.3.6), plain or over TLS, with Basic credentials
  /// (RFC 7617) if the proxy requires them. The proxy resolves names.
  ///
  /// A response other than 2xx is a refusal, with its status as `engineCode`; a response that is not HTTP/1 has code
  /// `protocol_violation`.
  ///
  /// - Parameters:
  ///   - host: the host name or IP address of the proxy.
  ///   - port: the port of the proxy, 1 to 65,535.
  ///   - login: the user, which may appear in logs and has no colon, and the password; neither has control characters.
  ///     Default `nil`: the proxy requires none.
  ///   - tls: the TLS parameters for the proxy, which the dialer below must support. Default `nil`: no TLS.
  ///   - below: the dialer that reaches the proxy: directly, or through another tunnel.
  /// - Throws: `ConfigurationError` for an invalid host or port, and for credentials that Basic cannot carry.
  public static func httpConnect(
    host: String, port: Int, login: (user: String, password: Secret)? = nil, tls: DialRequest.TLS? = nil,
    over below: any Dialer
  ) throws(ConfigurationError) -> any Dialer {
    try HTTPConnectDialer(proxy: proxy(host, port, login), tls: tls, over: below)
  }

  /// Returns a meek tunnel whose requests are sent by a stack: a stream is a sequence of HTTP requests, which a web
  /// server or a front before it forwards.
  ///
  /// Requests go to the front: its name is resolved, sent in TLS (SNI), and verified in the certificate. The `Host`
  /// field has the server behind it, and the path is the server's. The `url` of meek-client is the server's URL here,
  /// and its `front` is the host of the front. The server determines the destination: host and port of a dial request
  /// are only used by the layers above (as the name for TLS).
  ///
  /// Every stream is a session with a random `X-Session-Id`. Bytes are sent in the bodies of `POST`s and received in
  /// the responses, at most 64 KiB each way. After an exchange that carried bytes, the next request follows at once.
  /// Otherwise it follows after 100 ms, increased by half each time, up to 5 s (the values of the published
  /// meek-client).
  ///
  /// - Exactly once: a request that may have reached the server is never resent. Its failure ends the stream.
  /// - The protocol cannot signal an end. When the server has finished a session it responds with an error, and reading
  ///   throws code `connection_lost`. Ending the outgoing direction waits until the server has all bytes, and no write
  ///   can follow. The server is not informed; use the protocol that meek carries for that.
  /// - Closing returns at once. Bytes written earlier are still sent, for at most 5 s, while the process lives. To be
  ///   sure that they arrive, end the outgoing direction first.
  /// - Back-pressure: a write waits while 128 KiB are queued. While more than 192 KiB are unread, no request is sent; a
  ///   task that writes, or ends its direction, must therefore also read.
  ///
  /// All features of the stack apply: interceptors, pins, proxies. Its judges are not asked whether the dialed host
  /// allows plaintext; TLS over the tunnel asks its own judges.
  ///
  /// - Parameters:
  ///   - front: the URL to contact, `http` or `https`, without path, query and user. Default `nil`: the server itself.
  ///   - serverURL: the URL of the meek server, with the same scheme as the front.
  ///   - stack: the stack that sends the requests.
  ///   - time: the time source for pauses. Default: the system's clock.
  ///   - random: the source of session IDs. Default: the system's generator.
  /// - Throws: `ConfigurationError` if a URL cannot be used.
  public static func meek(
    to front: URL? = nil, serverURL: URL, through stack: any HTTPNetworkStack, time: TimeSource = .continuous,
    random: RandomSource = .system
  ) throws(ConfigurationError) -> any Dialer {
    let server = try MeekServer(to: front ?? serverURL, serverURL: serverURL)
    return MeekDialer(server, through: stack, time: time, random: random)
  }

  /// Returns a meek tunnel whose requests are sent over streams of another dialer, as HTTP/1.1 by Lastro itself. It
  /// works as ``meek(to:serverURL:through:time:random:)`` does.
  ///
  /// For an `https` server, the dialer below must support TLS.
  ///
  /// - Parameters:
  ///   - front: the URL to contact, `http` or `https`, without path, query and user. Default `nil`: the server itself.
  ///   - serverURL: the URL of the meek server, with the same scheme as the front.
  ///   - below: the dialer that opens the streams.
  ///   - time: the time source for pauses. Default: the system's clock.
  ///   - random: the source of session IDs. Default: the system's generator.
  /// - Throws: `ConfigurationError` if a URL cannot be used.
  public static func meek(
    to front: URL? = nil, serverURL: URL, over below: any Dialer, time: TimeSource = .continuous,
    random: RandomSource = .system
  ) throws(ConfigurationError) -> any Dialer {
    let server = try MeekServer(to: front ?? serverURL, serverURL: serverURL)
    return MeekDialer(server, over: below, time: time, random: random)
  }

  /// Returns an obfs4 tunnel, which the Swift Transport API calls Wisp: a stream in which every byte looks random, to a
  /// server (a "bridge") that proves to have the key of its certificate.
  ///
  /// The operator of the server publishes its certificate, mostly in a bridge line, which ``ViaChain/init(_:)`` reads.
  /// The server forwards its streams to the single destination that its operator chose. Host and port of a dial request
  /// are only used by the layers above (as the name for TLS), and are never sent. To choose hosts, let that destination
  /// be a proxy, and put ``socks5(host:port:login:over:)`` over this tunnel.
  ///
  /// - Call `addingTLS()` on it: obfs4 hides the traffic and authenticates the server, but an attacker who can cut the
  ///   connection can end a stream between two frames unnoticed.
  /// - A server does not respond to a client that it rejects. A wrong certificate, a wrong clock and a server of
  ///   another kind are therefore only noticed when the limit of the dial passes, with code `connect_timeout`. An
  ///   invalid response has code `handshake_failed` and an `engineCode`: 1 no mark in 8,192 bytes, 2 wrong MAC, 3 wrong
  ///   proof, 4 a key that gives no secret. Errors contain neither the certificate nor the address.
  /// - The protocol cannot end a single direction. Ending the outgoing direction sends nothing, so the server is not
  ///   informed; use the protocol above for that. Closing ends both directions.
  /// - Bytes are decoded when the application reads, at most 64 KiB at a time. A frame that was changed in transit
  ///   closes the connection. The bytes before it can still be read; after that, every read throws code
  ///   `protocol_violation`.
  /// - A small write can send 1,448 bytes or more because of its padding: prefer large writes. The pauses of
  ///   ``WispTiming/paused`` and ``WispTiming/paranoid`` are part of the write and count against its limit, except the
  ///   one after the last piece.
  /// - The clocks of both ends may differ by at most an hour.
  ///
  /// - Parameters:
  ///   - host: the host name or IP address of the server.
  ///   - port: the port of the server, 1 to 65,535.
  ///   - certificate: base64 of node ID and public key, with or without a trailing `==`; `cert` of a bridge line.
  ///   - mode: the way writes are split and delayed; `iat-mode` of a bridge line. Default ``WispTiming/immediate``.
  ///   - below: the dialer that reaches the server: directly, or through another tunnel.
  ///   - time: the time source for pauses, limits and the current hour. Default: the system's clock.
  /// - Throws: `ConfigurationError` for an invalid host, port or certificate. It contains no part of the certificate.
  public static func wisp(
    host: String, port: Int, certificate: Secret, mode: WispTiming = .immediate, over below: any Dialer,
    time: TimeSource = .continuous
  ) throws(ConfigurationError) -> any Dialer {
    let server = try WispServer(host: host, port: port, certificate: certificate, mode: mode)
    return WispDialer(server, over: below, time: time)
  }

  /// Returns a Shadowsocks tunnel (SIP004, SIP007): a stream in which every byte looks random, to a server that
  /// connects to the host of each request. The server resolves names. ``ViaChain/init(_:)`` reads the URI of a server.
  ///
  /// - **A successful dial proves nothing**: the server does not respond before the target does. With a wrong password
  ///   or method it is silent, and the first read ends with its own limit. If the target cannot be reached, the server
  ///   ends the stream, and the first read throws code `proxy_refused`.
  /// - Anyone who has the password can impersonate the server, or replay a recorded response. TLS authenticates the
  ///   host: call `addingTLS()` on the tunnel, as chains do.
  /// - The target's address is sent with the first bytes that are written, because the length of a packet with only an
  ///   address is recognisable. If a read comes first, or if nothing is written for 10 ms, the address is sent alone.
  /// - Ending the outgoing direction sends nothing, because servers would drop the response. Closing ends both
  ///   directions.
  /// - A chunk that was changed in transit closes the connection. The bytes before it can still be read; after that,
  ///   every read throws code `protocol_violation`.
  ///
  /// - Parameters:
  ///   - host: the host name or IP address of the server.
  ///   - port: the port of the server, 1 to 65,535.
  ///   - method: the encryption method of the server.
  ///   - password: the password, which all users of the server share: at least one byte of UTF-8.
  ///   - below: the dialer that reaches the server: directly, or through another tunnel.
  ///   - time: the time source for the delay of the address. Default: the system's clock.
  /// - Throws: `ConfigurationError` for an invalid host or port, for an empty password, and if libcrypto does not allow
  ///   MD5, which Shadowsocks needs to derive its keys, as under FIPS. The error contains no part of the password.
  public static func shadowsocks(
    host: String, port: Int, method: ShadowsocksMethod, password: Secret, over below: any Dialer,
    time: TimeSource = .continuous
  ) throws(ConfigurationError) -> any Dialer {
    let server = try ShadowsocksServer(host: host, port: port, method: method, password: password)
    return ShadowsocksDialer(server, over: below, time: time)
  }

  private static func proxy(
    _ host: String, _ port: Int, _ login: (user: String, password: Secret)?
  ) throws(ConfigurationError) -> ProxyServer {
    try ProxyServer(
      host: host, port: port, credentials: login.map { ProxyServer.Credentials(user: $0.user, password: $0.password) })
  }
}
