// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// A multi handle with its connections: everything in it shares one set of `ConnectionOptions`.
///
/// libcurl does not count all of them when it matches a pooled connection with a transfer (fixed name answers, roots
/// from memory), so requests with other options never meet its connections.
final class Partition {
  let id: UInt32
  let options: ConnectionOptions
  let applier: OptionApplier
  let trust: PartitionTrust
  /// Takes no more jobs: what its connections were trusted by has changed. It ends with its last transfer.
  private(set) var isRetired = false
  let multi: UnsafeMutableRawPointer
  /// Monotonic nanoseconds at which libcurl wants to be called; `nil` when it does not.
  private(set) var timerAt: Int64?
  var transfers: [ObjectIdentifier: Transfer] = [:]
  private(set) var hosts: [HostQueue.Key: HostQueue] = [:]
  /// When the last transfer ended; pooled connections are closed some time after.
  var idleSince: Int64?

  unowned let poller: Poller
  private var risenHosts: [HostQueue] = []
  /// Begun since the loop last asked.
  private var drains: [Transfer] = []

  init(id: UInt32, options: ConnectionOptions, settings: LoopSettings, poller: Poller) throws(TransportError) {
    guard CurlGlobal.isReady, let multi = curl_multi_init() else {
      throw TransportError(stage: .request, code: .engineFailure, message: "libcurl cannot make a multi handle")
    }
    self.id = id
    self.options = options
    self.multi = multi
    self.poller = poller
    do {
      trust = try PartitionTrust(options.tls, standing: settings.trustJudge)
      applier = try OptionApplier(
        options: options, trust: trust, limits: settings.transfer, environment: settings.environmentProxies,
        poller: poller)
    } catch {
      curl_multi_cleanup(multi)
      throw error
    }
    clastro_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, settings.connectionsPerHost)
    clastro_multi_set_long(multi, CURLMOPT_MAXCONNECTS, settings.idleConnections)
    clastro_multi_set_long(multi, CURLMOPT_PIPELINING, 2)  // CURLPIPE_MULTIPLEX
    clastro_multi_install(multi, Unmanaged.passUnretained(self).toOpaque(), Self.socketChanged, Self.timerChanged)
  }

  deinit {
    for transfer in transfers.values {
      curl_multi_remove_handle(multi, transfer.easy.raw)
      transfer.easy.transfer = nil
    }
    transfers = [:]
    curl_multi_cleanup(multi)
  }

  func host(_ key: HostQueue.Key) throws(TransportError) -> HostQueue {
    if let host = hosts[key] { return host }
    let host = try HostQueue(
      key: key, partition: self, proxy: applier.proxy(for: key),
      mayMultiplex: applier.mayMultiplex(isTLS: key.isTLS))
    hosts[key] = host
    return host
  }

  /// Closes it to new jobs.
  func retire() { isRetired = true }

  /// Noted inside a callback; the loop lets waiting jobs in afterwards.
  func limitRose(of host: HostQueue) { if host.waitingCount > 0 { risenHosts.append(host) } }

  func takeRisenHosts() -> [HostQueue] {
    if risenHosts.isEmpty { return [] }
    defer { risenHosts = [] }
    return risenHosts
  }

  /// Noted inside a callback; the loop looks after it.
  func noteDrain(_ transfer: Transfer) { drains.append(transfer) }

  func takeDrains() -> [Transfer] {
    if drains.isEmpty { return [] }
    defer { drains = [] }
    return drains
  }

  /// A transfer to a host that only reads the rest of a body.
  func drain(of host: HostQueue) -> Transfer? {
    transfers.values.first { $0.host === host && $0.drainsUntil != nil }
  }

  /// Forgets hosts nobody talks to, once there are many: a crawler meets thousands.
  func forgetIdleHosts() {
    guard hosts.count > 1_024 else { return }
    hosts = hosts.filter { !$0.value.isIdle }
  }

  /// Begins a transfer. libcurl calls the timer back from within.
  func add(_ transfer: Transfer) -> CURLMcode {
    idleSince = nil
    transfers[ObjectIdentifier(transfer.job)] = transfer
    let code = curl_multi_add_handle(multi, transfer.easy.raw)
    if code != CURLM_OK { transfers[ObjectIdentifier(transfer.job)] = nil }
    return code
  }

  /// Takes a transfer out; its callbacks are over.
  func remove(_ transfer: Transfer, now: Int64) {
    curl_multi_remove_handle(multi, transfer.easy.raw)
    transfers[ObjectIdentifier(transfer.job)] = nil
    transfer.easy.transfer = nil
    if transfers.isEmpty { idleSince = now }
  }

  func socketReady(_ ready: Poller.Ready, now: Int64) {
    if ready.readable || ready.writable { poller.noteMovement(of: ready.descriptor, at: now) }
    var running: Int32 = 0
    let mask =
      (ready.readable ? CURL_CSELECT_IN : 0) | (ready.writable ? CURL_CSELECT_OUT : 0)
      | (ready.failed ? CURL_CSELECT_ERR : 0)
    curl_multi_socket_action(multi, ready.descriptor, mask, &running)
  }

  /// Calls libcurl when its time has come, even if descriptors were ready too.
  func fireTimer(now: Int64) {
    guard let due = timerAt, now >= due else { return }
    timerAt = nil
    var running: Int32 = 0
    curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
  }

  /// The next transfer libcurl has finished.
  func nextFinished() -> (Transfer, CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
        let transfer = TransferCallbacks.transfer(clastro_private(easy))
      else { continue }
      return (transfer, clastro_message_result(message))
    }
    return nil
  }

  private static let socketChanged: clastro_socket_callback = { easy, socket, what, context, _ in
    guard let context else { return 0 }
    let partition = Unmanaged<Partition>.fromOpaque(context).takeUnretainedValue()
    if what == CURL_POLL_REMOVE {
      partition.poller.unwatch(socket)
    } else {
      if let easy { TransferCallbacks.transfer(clastro_private(easy))?.socket = socket }
      partition.poller.watch(
        socket, owner: partition.id, read: what & CURL_POLL_IN != 0, write: what & CURL_POLL_OUT != 0)
    }
    return 0
  }

  private static let timerChanged: clastro_timer_callback = { _, milliseconds, context in
    guard let context else { return 0 }
    let partition = Unmanaged<Partition>.fromOpaque(context).takeUnretainedValue()
    partition.timerAt =
      switch milliseconds {
      case ..<0: nil
      case 0: 0  // at once, as for every transfer that begins
      default: monotonicNow() + Int64(milliseconds) * 1_000_000
      }
    return 0
  }
}
