// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import HTTPTypes
internal import Lastro
internal import LastroExchange
internal import LastroWire

/// Turns a request, and the options of its partition, into options of an easy handle.
final class OptionApplier {
  let options: ConnectionOptions
  /// Those of the options; `nil` where they deny nothing.
  let egressRules: EgressRules?
  private let limits: TransferLimits
  /// Outlives every connection.
  let poller: Poller
  let trust: PartitionTrust
  private let identities: ClientIdentities
  private let proxies: ProxyResolver
  /// Fixed name answers in libcurl's syntax. Read by libcurl while transfers run, so kept as long as the partition.
  private var resolutions = HeaderList()
  /// The lines of a request without fields of its own.
  private var commonLines = HeaderList()

  init(
    options: ConnectionOptions, trust: PartitionTrust, limits: TransferLimits, environment: ProxyResolver,
    poller: Poller
  ) throws(TransportError) {
    self.options = options
    egressRules = options.reach.egress.flatMap { $0.isUnrestricted ? nil : $0 }
    self.poller = poller
    self.trust = trust
    self.limits = limits
    identities = try ClientIdentities(options.tls)
    try CipherNames.check(options.tls)
    proxies = try ProxyResolver(options.proxy, environment: environment)
    for resolution in options.resolutions {
      let addresses = resolution.addresses.map(\.bracketedHost).joined(separator: ",")
      // In the form in which requests name it.
      let host = (try? HostName(resolution.host))?.text ?? resolution.host
      _ = resolutions.append("\(host):\(resolution.port):\(addresses)")
    }
    _ = appendCommonLines(to: &commonLines, for: [:], codings: limits.decompresses)
  }

  /// Written here and not by libcurl, which would format each byte of them twice.
  private func appendCommonLines(to lines: inout HeaderList, for fields: HTTPFields, codings hasCodings: Bool) -> Bool {
    if let agent = limits.userAgent, !fields.contains(.userAgent), !lines.append("User-Agent", ": ", agent) {
      return false
    }
    // libcurl sends `Accept: */*` by itself, unless it sees the name without a value.
    if !limits.sendsAccept, !fields.contains(.accept), !lines.append("Accept:") { return false }
    return !hasCodings || lines.append("Accept-Encoding", ": ", ContentCoding.offer)
  }

  /// What libcurl reads or writes at once of a body that is streamed. Its defaults are 16 and 64 KiB, and a call to the
  /// kernel for each.
  private static let streamBytes = 128 * 1024

  /// What is read while the reader is slow lies in libcurl: no more than a few times what was asked for.
  private var streamReadBytes: Int { min(Self.streamBytes, max(16 * 1024, limits.streamBufferBytes)) }

  /// The proxy's URL; empty for none.
  func proxy(for host: HostQueue.Key) -> String { proxy(isTLS: host.isTLS, authority: host.authority) }

  /// The proxy's URL; empty for none.
  func proxy(isTLS: Bool, authority: String) -> String {
    options.unixSocketPath == nil ? proxies.proxy(isTLS: isTLS, authority: authority) : ""
  }

  /// A new handle for a job; `nil` when memory ran out.
  func handle(for job: TransferJob, on host: HostQueue) -> EasyHandle? {
    let easy = EasyHandle()
    if trust.allowsResumption, !job.isInspection, let sessions = host.sessions { easy?.use(sessions) }
    return easy
  }

  /// Sets everything up; libcurl's refusal of an option is a typed error, not a trap.
  func apply(_ transfer: Transfer) throws(TransportError) {
    let easy = transfer.easy
    let head = transfer.job.request.head
    easy.transfer = transfer
    let gate = transfer.host.gate
    if gate.isNeeded { try trust.prepare(for: gate.isTLS ? identity(for: gate.target.host) : nil) }
    try applyOptions(transfer)
    try applyURL(easy, head)
    try applyHeaders(transfer)
  }

  private func applyOptions(_ transfer: Transfer) throws(TransportError) {
    let easy = transfer.easy
    let request = transfer.job.request
    applyBasics(easy, timeout: request.connectTimeout)
    let proxy = proxy(for: transfer.host.key)
    let target = transfer.host.gate.target
    try checkEgress(to: target, proxy: proxy)
    if options.reach.names != nil, resolvesName(of: target.host, port: target.port, isTLS: transfer.host.key.isTLS) {
      throw .unaskedResolver
    }
    try applyRoute(easy, proxy: proxy)
    applyVersion(easy, isTLS: transfer.host.key.isTLS)
    try applyTLS(transfer)
    if transfer.job.isInspection { easy.set(CURLOPT_CONNECT_ONLY, 1) }
    applyBody(easy, request)
    if transfer.job.body != nil { easy.set(CURLOPT_BUFFERSIZE, streamReadBytes) }
    if transfer.job.upload != nil { easy.set(CURLOPT_UPLOAD_BUFFERSIZE, Self.streamBytes) }
    // ``BodyDecoder`` undoes both.
    easy.set(CURLOPT_HTTP_TRANSFER_DECODING, 0)
    easy.set(CURLOPT_HTTP_CONTENT_DECODING, 0)
    TransferCallbacks.install(on: easy)
    let isTLS = transfer.host.key.isTLS
    if isTLS, transfer.host.isProxied { TransferCallbacks.installTunnelLimit(on: easy) }
    // Nothing else bounds what libcurl reads at once from a connection of HTTP/2 in the clear.
    let open = !isTLS && options.httpVersion == .http2 ? Poller.openWatchedSocket : Poller.openSocket
    transfer.egress = installSockets(on: easy, proxy: proxy, open: open)
  }

  func applyBasics(_ easy: EasyHandle, timeout: Duration?) {
    easy.set(CURLOPT_NOSIGNAL, 1)
    easy.set(CURLOPT_QUICK_EXIT, 1)
    easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    easy.set(CURLOPT_TCP_NODELAY, 1)
    easy.set(CURLOPT_MAXAGE_CONN, limits.idleLifetimeSeconds)
    easy.set(CURLOPT_MAXLIFETIME_CONN, limits.connectionLifetimeSeconds)
    // 0 would mean libcurl's own 300 s.
    let milliseconds = timeout.map { max(1, $0.nanoseconds / 1_000_000) } ?? Int64(Int32.max)
    easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: min(milliseconds, Int64(Int32.max))))
  }

  private func applyURL(_ easy: EasyHandle, _ head: HTTPRequest) throws(TransportError) {
    let url = "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "/")"
    guard easy.set(CURLOPT_URL, url) == CURLE_OK else {
      throw .unparsedURL
    }
  }

  /// What leads to the host.
  func applyRoute(_ easy: EasyHandle, proxy: String) throws(TransportError) {
    easy.set(CURLOPT_PATH_AS_IS, 1)
    easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
    // Not through the proxy, or not from the interface, that was asked for would be worse than not at all.
    guard easy.set(CURLOPT_PROXY, proxy) == CURLE_OK, easy.set(CURLOPT_NOPROXY, "") == CURLE_OK
    else { throw .refusedProxy(TrustTarget.proxyName(proxy)) }
    // For CONNECT; the request itself has a line.
    if !proxy.isEmpty, let agent = limits.userAgent { easy.set(CURLOPT_USERAGENT, agent) }
    if resolutions.head != nil { easy.set(CURLOPT_RESOLVE, pointer: UnsafeRawPointer(resolutions.head)) }
    if let path = options.unixSocketPath {
      guard !path.utf8.contains(0), easy.set(CURLOPT_UNIX_SOCKET_PATH, path) == CURLE_OK else {
        throw .refusedSocketPath(path)
      }
    }
    if let interface = options.localInterface {
      guard !interface.utf8.contains(0), easy.set(CURLOPT_INTERFACE, interface) == CURLE_OK else {
        throw .refusedInterface(interface)
      }
    }
  }

  private func applyVersion(_ easy: EasyHandle, isTLS: Bool) {
    let version =
      switch options.httpVersion {
      case .http1: CURL_HTTP_VERSION_1_1
      case .automatic: CURL_HTTP_VERSION_2TLS
      case .http2: isTLS ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
      }
    easy.set(CURLOPT_HTTP_VERSION, Int(version))
    if mayMultiplex(isTLS: isTLS) {
      // Wait for the first connection to tell whether it multiplexes, instead of opening one for each request.
      easy.set(CURLOPT_PIPEWAIT, 1)
    } else if !isTLS, options.httpVersion == .http2 {
      easy.set(CURLOPT_FRESH_CONNECT, 1)
      easy.set(CURLOPT_FORBID_REUSE, 1)
    }
  }

  /// Whether requests may come to share a connection. Before 8.0.0, libcurl fails with a framing error when it uses a
  /// connection in the clear with prior knowledge of HTTP/2 again (curl/curl#10643).
  func mayMultiplex(isTLS: Bool) -> Bool {
    switch options.httpVersion {
    case .http1: false
    case .automatic: isTLS
    case .http2: isTLS || Self.reusesPriorKnowledge
    }
  }

  private static let reusesPriorKnowledge = clastro_version().pointee.version_num >= 0x080000

  private func applyTLS(_ transfer: Transfer) throws(TransportError) {
    let gate = transfer.host.gate
    guard gate.isNeeded else { return }
    if !trust.allowsResumption || transfer.job.isInspection { transfer.easy.set(CURLOPT_SSL_SESSIONID_CACHE, 0) }
    try TransferCallbacks.installContextHook(on: transfer.easy)
    if gate.isTLS { try applyServerTLS(transfer.easy, host: gate.target.host) }
    if gate.proxyTarget != nil { try applyProxyTLS(transfer.easy) }
  }

  /// - Parameter role: a proxy that a stream is dialed to gets no client certificate, as no other proxy does.
  func applyServerTLS(
    _ easy: EasyHandle, host: HostName, role: ServerTrust.Role = .server
  ) throws(TransportError) {
    // The hook gives the roots.
    easy.set(CURLOPT_CAPATH, pointer: nil)
    easy.set(CURLOPT_CAINFO, pointer: nil)
    easy.set(CURLOPT_SSLVERSION, minimumVersion)
    applyCiphers(easy, legacy: CURLOPT_SSL_CIPHER_LIST, suites: CURLOPT_TLS13_CIPHERS)
    if options.tls.requiresStapledStatus { easy.set(CURLOPT_SSL_VERIFYSTATUS, 1) }
    guard let source = identity(for: host, role) else { return }
    // An identity that libcurl does not take must not turn into a request without one.
    guard let identity = trust.files.identity(source),
      easy.set(CURLOPT_SSLCERT_BLOB, blob: identity.certificate) == CURLE_OK,
      easy.set(CURLOPT_SSLKEY_BLOB, blob: identity.key) == CURLE_OK
    else { throw .unusableIdentity }
    if let password = identity.password { easy.set(CURLOPT_KEYPASSWD, password) }
  }

  /// The client certificate for a host. No proxy gets one.
  func identity(for host: HostName, _ role: ServerTrust.Role = .server) -> TLSOptions.Identity? {
    role == .server ? identities.identity(for: host) : nil
  }

  /// The proxy's own certificate is verified like a server's, against the same roots. No client certificate goes to it.
  func applyProxyTLS(_ easy: EasyHandle) throws(TransportError) {
    easy.set(CURLOPT_PROXY_CAPATH, pointer: nil)
    easy.set(CURLOPT_PROXY_CAINFO, pointer: nil)
    easy.set(CURLOPT_PROXY_SSLVERSION, minimumVersion)
    applyCiphers(easy, legacy: CURLOPT_PROXY_SSL_CIPHER_LIST, suites: CURLOPT_PROXY_TLS13_CIPHERS)
    guard Self.tellsProxiesApart else {
      throw .unmarkedProxy
    }
    clastro_mark_proxy_contexts(easy.raw)
  }

  private static let tellsProxiesApart = clastro_proxy_mark_is_telling()

  private func applyCiphers(_ easy: EasyHandle, legacy: CURLoption, suites: CURLoption) {
    if let ciphers = options.tls.legacyCiphers { easy.set(legacy, ciphers.joined(separator: ":")) }
    if let names = options.tls.cipherSuites { easy.set(suites, names.joined(separator: ":")) }
  }

  /// Versions share the option with a maximum in the upper half; 0 there means the newest.
  private var minimumVersion: Int {
    switch options.tls.minimumVersion {
    case .v1_0: Int(CURL_SSLVERSION_TLSv1_0)
    case .v1_1: Int(CURL_SSLVERSION_TLSv1_1)
    case .v1_2: Int(CURL_SSLVERSION_TLSv1_2)
    case .v1_3: Int(CURL_SSLVERSION_TLSv1_3)
    }
  }

  private func applyBody(_ easy: EasyHandle, _ request: TransferRequest) {
    let method = request.head.method.rawValue
    if request.body.isEmpty {
      switch method {
      case "GET": easy.set(CURLOPT_HTTPGET, 1)
      case "HEAD": easy.set(CURLOPT_NOBODY, 1)
      default: easy.set(CURLOPT_CUSTOMREQUEST, method)
      }
      return
    }
    easy.set(CURLOPT_POST, 1)
    easy.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: request.body.length ?? -1)
    if method != "POST" { easy.set(CURLOPT_CUSTOMREQUEST, method) }
  }

  private func applyHeaders(_ transfer: Transfer) throws(TransportError) {
    let request = transfer.job.request
    let fields = request.head.headerFields.withOneCookieField
    if fields.isEmpty, request.body.isEmpty, !request.head.method.definesBody {
      transfer.easy.set(CURLOPT_HTTPHEADER, pointer: UnsafeRawPointer(commonLines.head))
      return
    }
    var isComplete = appendCommonLines(to: &transfer.headerList, for: fields, codings: transfer.expandsBody)
    for field in fields {
      let value = field.value
      // libcurl drops a field it sees as "Name:"; the semicolon is its way to send an empty value.
      isComplete = transfer.headerList.append(field.name.rawName, value.isEmpty ? ";" : ": ", value) && isComplete
    }
    if !request.body.isEmpty {
      if !fields.contains(.contentType) { isComplete = transfer.headerList.append("Content-Type:") && isComplete }
      if request.body.length == nil, !fields.contains(.transferEncoding) {
        isComplete = transfer.headerList.append("Transfer-Encoding: chunked") && isComplete
      }
    } else if request.head.method.definesBody, !fields.contains(.contentLength) {
      // RFC 9110 §8.6: methods that define a body should say that there is none.
      isComplete = transfer.headerList.append("Content-Length: 0") && isComplete
    }
    guard isComplete else {
      throw .noMemoryForFields
    }
    transfer.easy.set(CURLOPT_HTTPHEADER, pointer: UnsafeRawPointer(transfer.headerList.head))
  }
}

extension HTTPRequest.Method {
  fileprivate var definesBody: Bool { self == .post || self == .put || self == .patch }
}
