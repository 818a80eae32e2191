// SPDX-License-Identifier: Apache-2.0

/// The options of TLS. The certificate chain and the server's name are always verified.
///
/// A host name is compared only with the subject alternative names (RFC 9525 §2). A certificate that has only a common
/// name is valid for no host.
///
/// ```swift
/// var engine = CurlConfiguration()
/// engine.connection.tls.roots = .file("/etc/bank/roots.pem")
/// engine.connection.tls.minimumVersion = .v1_3
/// ```
public struct TLSOptions: Sendable, Hashable {
  /// A TLS version.
  public enum Version: Sendable, Hashable, Comparable {
    /// TLS 1.0 (obsolete: RFC 8996).
    case v1_0
    /// TLS 1.1 (obsolete: RFC 8996).
    case v1_1
    /// TLS 1.2.
    case v1_2
    /// TLS 1.3.
    case v1_3

    /// The position in this list, from 0: the C targets know the versions by it.
    package var position: Int32 {
      switch self {
      case .v1_0: 0
      case .v1_1: 1
      case .v1_2: 2
      case .v1_3: 3
      }
    }
  }

  /// A source of trusted roots.
  ///
  /// Files are read once, and checked for changes once a second at most. When a file has changed, requests use new
  /// connections, with the new roots. While the file cannot be read, connections and requests use the previous roots.
  /// Requests fail only after an idle period, when no connection uses those roots any more.
  public enum Roots: Sendable, Hashable {
    /// The system's bundle: the file that `SSL_CERT_FILE` names, or the distribution's.
    case system
    /// A PEM file with one or more certificates.
    case file(String)
    /// A directory. Every PEM file in it is used, regardless of its name.
    case directory(String)
    /// PEM text with one or more certificates.
    case pem([UInt8])
  }

  /// PEM data in a file or in memory.
  public enum PEM: Sendable, Hashable {
    /// The path of a PEM file.
    case file(String)
    /// PEM text.
    case bytes([UInt8])
  }

  /// A client certificate (chain, leaf first) and its private key.
  ///
  /// Files are read once, and checked for changes once a second at most. When certificate and key have changed and
  /// match, requests use new connections, which present the new certificate. While the files cannot be read or do not
  /// match, connections and requests use the previous pair. A file may have at most 1 MiB. It may be a pipe, which is
  /// read once and must be closed by its writer within a minute.
  public struct Identity: Sendable, Hashable {
    /// The certificate and its key, as they are given.
    struct Parts: Sendable, Hashable {
      var certificate: PEM
      var key: PEM?
      var keyPassword: String?
    }

    /// A reference that is equal only to the same object.
    private struct Rotation: Sendable, Hashable {
      let identity: RotatingIdentity

      static func == (left: Self, right: Self) -> Bool { left.identity === right.identity }
      func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }
    }

    private enum Source: Sendable, Hashable {
      case fixed(Parts)
      case rotating(Rotation)
    }

    private var source: Source

    /// The certificate and its key. Those of a rotating identity are the current ones, and setting them ends the
    /// rotation.
    private(set) var parts: Parts {
      get {
        switch source {
        case .fixed(let parts): parts
        case .rotating(let rotation): rotation.identity.parts
        }
      }
      set { source = .fixed(newValue) }
    }

    /// The certificate chain.
    public var certificate: PEM {
      get { parts.certificate }
      set { parts.certificate = newValue }
    }
    /// The private key; `nil` if the certificate's PEM contains it.
    public var key: PEM? {
      get { parts.key }
      set { parts.key = newValue }
    }
    /// The password of the key, if the key is encrypted.
    public var keyPassword: String? {
      get { parts.keyPassword }
      set { parts.keyPassword = newValue }
    }

    /// Makes an identity. Default: the certificate's PEM contains the key, which has no password.
    public init(certificate: PEM, key: PEM? = nil, keyPassword: String? = nil) {
      source = .fixed(Parts(certificate: certificate, key: key, keyPassword: keyPassword))
    }

    /// Makes an identity whose certificate and key the application replaces.
    ///
    /// Two such identities are equal if they have the same source. ``certificate``, ``key`` and ``keyPassword`` are those
    /// of the source at the time of the call.
    ///
    /// - Parameter rotating: the source.
    public init(_ rotating: RotatingIdentity) { source = .rotating(Rotation(identity: rotating)) }

    /// The identity as it is now: a fixed one, whose certificate and key belong together.
    package var current: Self {
      var current = self
      current.source = .fixed(parts)
      return current
    }

    /// The source of an identity that the application replaces; `nil` for a fixed one.
    package var rotation: RotatingIdentity? {
      if case .rotating(let rotation) = source { rotation.identity } else { nil }
    }
  }

  /// The name that the certificate of a server must prove.
  ///
  /// A SPIFFE ID is proved by an X.509-SVID: a certificate with exactly one URI among its alternative names, which is
  /// the ID of a workload. Its chain must lead to ``TLSOptions/roots``, which must be the bundle of the trust domain:
  /// the system's roots are refused. The host name is not compared then, but it is still sent to the server (SNI). No
  /// TLS session is resumed, and requests without TLS are refused (`trust/plaintext_refused`). Proxies prove their host
  /// name in any case, by the same roots.
  @nonexhaustive
  public enum Peer: Sendable, Hashable {
    /// The host name or address of the connection (RFC 9525).
    case hostName
    /// A SPIFFE ID of this set. The IDs must have a path and belong to one trust domain, and there must be at least one;
    /// otherwise requests fail with `tls/invalid_tls_configuration`.
    case spiffe(Set<SPIFFEID>)
    /// Any SPIFFE ID of a workload in the trust domain of an ID, whose path does not matter.
    case spiffeTrustDomain(of: SPIFFEID)
  }

  /// The name that the certificate of a server must prove. Default ``Peer/hostName``.
  ///
  /// A request's own options replace it, like all options except ``trustJudge``. A server with another SPIFFE ID fails
  /// requests with `trust/spiffe_id_mismatch`, and they are not retried. A request that also has
  /// ``DialRequest/TLS/soleJudge`` is refused (code `unsupported`).
  public var peer = Peer.hostName
  /// The trusted roots. Default ``Roots/system``.
  public var roots: Roots = .system
  /// The client certificate. Default `nil`: none.
  ///
  /// If a redirect leaves the origin, an identity in a request's options is dropped, like credentials in header fields.
  /// An identity in a transport's default options is presented to every server that asks for a certificate, including
  /// targets of redirects; ``hostIdentities`` are not.
  public var identity: Identity?
  /// The identities for single hosts, which take precedence over ``identity``. Default none.
  ///
  /// The keys are host names, in any form that ``HostName`` accepts. An entry applies to the host itself, on every
  /// port.
  public var hostIdentities: [String: Identity] = [:]
  /// The minimum TLS version. Default TLS 1.2.
  public var minimumVersion: Version = .v1_2
  /// The maximum TLS version, for finding out what a server or a middlebox does with an older one. Default `nil`: the
  /// newest version that OpenSSL supports. A maximum below ``minimumVersion`` fails requests with
  /// `tls/invalid_tls_configuration` before anything is sent.
  public var maximumVersion: Version?
  /// The ciphers of TLS 1.2 and older, by OpenSSL's names, in order of preference (`SSL_CTX_set_cipher_list`). Default
  /// `nil`: OpenSSL's choice. A name that is unknown to OpenSSL, here or in `cipherSuites`, fails requests with
  /// `tls/invalid_tls_configuration`.
  public var legacyCiphers: [String]?
  /// The cipher suites of TLS 1.3, in order of preference, such as `TLS_AES_128_GCM_SHA256`
  /// (`SSL_CTX_set_ciphersuites`). Default `nil`: OpenSSL's choice.
  public var cipherSuites: [String]?
  /// Whether certificates must also follow the rules of RFC 5280 for their contents (`X509_V_FLAG_X509_STRICT`): key
  /// identifiers, critical basic constraints, key usages of authorities. Certificates of private authorities that were
  /// created with few options often fail them. Default false: OpenSSL's default checks.
  public var requiresStrictChain = false
  /// Whether a server must staple a good OCSP response (RFC 6066 §8, `CURLOPT_SSL_VERIFYSTATUS`). Default false: no
  /// response is requested.
  public var requiresStapledStatus = false
  /// The file to which the secrets of every connection are appended, for programs that decrypt captured traffic.
  /// Default `nil`.
  ///
  /// This is for debugging: anyone who can read the file can decrypt the traffic. The file is created with mode 0600.
  /// Lines are written in the background. The file is complete when the engine has shut down or the process has exited.
  /// The environment's `SSLKEYLOGFILE` has no effect.
  public var keyLogFile: String?

  /// The judge of servers, which is asked after chain and host name were verified. Default `nil`: no further check.
  ///
  /// The judge in a transport's own options applies to every request. A judge in a request's options is asked in
  /// addition.
  public var trustJudge: (any ServerTrustJudge)? {
    get { judge?.judge }
    set { judge = newValue.map(JudgeReference.init) }
  }

  /// A reference that is equal only to the same object: two judges with equal rules may diverge later.
  private struct JudgeReference: Sendable, Hashable {
    let judge: any ServerTrustJudge

    static func == (left: Self, right: Self) -> Bool { left.judge === right.judge }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(judge)) }
  }

  private var judge: JudgeReference?

  /// Makes the default options.
  public init() {}
}

extension TLSOptions.Peer: CustomStringConvertible {
  /// The name as it is written in errors and explanations, such as `spiffe://example.org/orders`.
  public var description: String {
    switch self {
    case .hostName: "the host name"
    case .spiffe(let ids): ids.map(\.text).sorted().joined(separator: " or ")
    case .spiffeTrustDomain(let id): "any ID of the trust domain \(id.trustDomain)"
    }
  }

  /// Returns whether the ID of a workload is one of those that are required.
  func accepts(_ id: SPIFFEID) -> Bool {
    switch self {
    case .hostName: false
    case .spiffe(let ids): ids.contains(id)
    case .spiffeTrustDomain(let member): id.trustDomain == member.trustDomain
    }
  }
}
