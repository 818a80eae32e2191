// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The objects that the exchanges of a self-check share: a server, its root, and the judge.
final class CheckLab {
  static let host = "self-check.invalid"

  let judge = CheckJudge()
  let files = TLSFiles(TLSOptions())
  let broken: TrustAssumption?
  fileprivate let server: OpaquePointer
  fileprivate let multi: UnsafeMutableRawPointer
  fileprivate let sessions: SessionShare
  fileprivate let address: UnsafeMutablePointer<curl_slist>

  init?(broken: TrustAssumption?) {
    guard CurlGlobal.isReady, let server = clastro_check_server_new(Self.host) else { return nil }
    var length = 0
    let root = UnsafeRawBufferPointer(start: clastro_check_server_root(server, &length), count: length)
    guard let roots = try? RootStore(.pem([UInt8](root))), let sessions = SessionShare(),
      let address = curl_slist_append(nil, "\(Self.host):443:127.0.0.1"), let multi = curl_multi_init()
    else {
      clastro_check_server_free(server)
      return nil
    }
    self.server = server
    self.sessions = sessions
    self.address = address
    self.multi = multi
    self.broken = broken
    try? files.store(TLSFileAnswer(roots: .new(roots)), now: 0)
  }

  deinit {
    curl_multi_cleanup(multi)
    curl_slist_free_all(address)
    clastro_check_server_free(server)
  }

  var counts: clastro_check_counts { clastro_check_server_counts(server) }
}

/// The judge of a self-check.
final class CheckJudge: ServerTrustJudge {
  private let state = Lock((accepts: true, asked: 0))

  var revision: UInt64 { 0 }
  var asked: Int { state.withLock { $0.asked } }
  var accepts: Bool {
    get { state.withLock { $0.accepts } }
    set { state.withLock { $0.accepts = newValue } }
  }

  func judge(_ trust: ServerTrust) throws(TrustFailure) -> TrustVerdict {
    let accepts = state.withLock { state in
      state.asked += 1
      return state.accepts
    }
    guard accepts else { throw TrustFailure(.refused("for the self-check"), trust: trust) }
    return .validated
  }
}

/// A request of a self-check, which uses libcurl and a ``TLSGate`` like any other request, with records of its
/// callbacks.
final class CheckExchange {
  /// The time after which a library that hangs is given up.
  private static let limit = Duration.seconds(5)

  private let lab: CheckLab
  private let easy: EasyHandle
  private let gate: TLSGate
  /// Whether the hook ends the connection.
  var stopsInHook = false
  var stopsInPrereq = false
  /// Whether the prereq callback lets the request pass, regardless of the connection.
  var trustsPrereq = false
  /// Whether the context had the mark of proxies, for each call of the hook.
  private(set) var marks: [Bool] = []
  /// The number of request bytes that the server had received, for each call of prereq.
  private(set) var sentBeforePrereq: [Int] = []
  /// Whether the connection was known and had its verdict, for each call of prereq.
  private(set) var verdicts: [Bool] = []

  /// Creates an exchange.
  ///
  /// - Parameters:
  ///   - certificateFor: the host that the certificate has to be for.
  ///   - isFresh: whether the exchange opens a new connection.
  init?(
    _ lab: CheckLab, certificateFor host: String = CheckLab.host, isFresh: Bool = false, throughProxy: Bool = false
  ) {
    guard let easy = EasyHandle(), let name = try? HostName(host) else { return nil }
    let target = TrustTarget(host: name, port: 443)
    let gate = try? TLSGate(
      target, proxyTarget: throughProxy ? target : nil,
      terms: TLSTerms(
        rules: JudgePanel(standing: lab.judge, TLSOptions()), files: lab.files, isStrict: false,
        allowsResumption: lab.broken == .noResumption), recordsChain: false)
    guard let gate else { return nil }
    self.lab = lab
    self.easy = easy
    self.gate = gate
    guard setUp(isFresh: isFresh, throughProxy: throughProxy) else { return nil }
  }

  private func setUp(isFresh: Bool, throughProxy: Bool) -> Bool {
    let owner = Unmanaged.passUnretained(self).toOpaque()
    easy.use(lab.sessions)
    easy.set(CURLOPT_NOSIGNAL, 1)
    easy.set(CURLOPT_URL, "https://\(CheckLab.host)/")
    easy.set(CURLOPT_RESOLVE, pointer: UnsafeRawPointer(lab.address))
    easy.set(CURLOPT_PROXY, throughProxy ? "https://\(CheckLab.host):443" : "")
    easy.set(CURLOPT_NOPROXY, "")
    easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    easy.set(CURLOPT_CAPATH, pointer: nil)
    easy.set(CURLOPT_CAINFO, pointer: nil)
    easy.set(CURLOPT_PROXY_CAPATH, pointer: nil)
    easy.set(CURLOPT_PROXY_CAINFO, pointer: nil)
    // The gate checks the name. libcurl's own check of it is not tested here.
    easy.set(CURLOPT_SSL_VERIFYHOST, 0)
    if lab.broken != .noResumption { easy.set(CURLOPT_SSL_SESSIONID_CACHE, 0) }
    if isFresh { easy.set(CURLOPT_FRESH_CONNECT, 1) }
    if lab.broken != .proxyMark { clastro_mark_proxy_contexts(easy.raw) }
    clastro_install_socket_keeper(easy.raw, owner, Self.open, nil, nil)
    clastro_install_dial_callbacks(easy.raw, owner, Self.discard, lab.broken == .prereq ? nil : Self.prereq)
    return lab.broken == .hook || clastro_install_context_hook(easy.raw, Self.hook, owner) == CURLE_OK
  }

  /// Performs the exchange, including the server's part.
  func run() -> CURLcode {
    guard curl_multi_add_handle(lab.multi, easy.raw) == CURLM_OK else { return CURLE_FAILED_INIT }
    defer { curl_multi_remove_handle(lab.multi, easy.raw) }
    let end = monotonicNow().adding(Self.limit)
    var running: Int32 = 0, left: Int32 = 0
    while monotonicNow() < end {
      guard curl_multi_perform(lab.multi, &running) == CURLM_OK else { return CURLE_FAILED_INIT }
      clastro_check_server_step(lab.server)
      while let message = curl_multi_info_read(lab.multi, &left) {
        if message.pointee.msg == CURLMSG_DONE { return message.pointee.data.result }
      }
      curl_multi_poll(lab.multi, nil, 0, 1, nil)
    }
    return CURLE_OPERATION_TIMEDOUT
  }

  // MARK: Called by libcurl

  private static func of(_ owner: UnsafeMutableRawPointer?) -> CheckExchange? {
    owner.map { Unmanaged<CheckExchange>.fromOpaque($0).takeUnretainedValue() }
  }

  private static let open: curl_opensocket_callback = { owner, _, address in
    guard let exchange = of(owner), let address else { return CURL_SOCKET_BAD }
    return clastro_check_server_open(exchange.lab.server, address)
  }

  private static let discard: curl_write_callback = { _, size, count, _ in size * count }

  private static let hook: curl_ssl_ctx_callback = { _, context, owner in
    guard let context, let exchange = of(owner), exchange.began(context) else { return CURLE_SSL_CONNECT_ERROR }
    return CURLE_OK
  }

  private func began(_ context: UnsafeMutableRawPointer) -> Bool {
    marks.append(clastro_context_takes_proxy_mark(context))
    guard !stopsInHook, gate.attach(to: context) != nil else { return false }
    if lab.broken == .verification { clastro_check_defeat_verification(context) }
    return true
  }

  private static let prereq: curl_prereq_callback = { owner, _, _, _, _ in
    Int32(of(owner)?.willSend() == true ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT)
  }

  private func willSend() -> Bool {
    clastro_check_server_step(lab.server)
    sentBeforePrereq.append(lab.counts.request_bytes)
    let peer = lab.broken == .connection ? nil : TLSPeer.of(easy)
    let isAdmitted = (try? gate.admit(peer, of: easy)) != nil
    verdicts.append(isAdmitted)
    return trustsPrereq || (isAdmitted && !stopsInPrereq)
  }
}
