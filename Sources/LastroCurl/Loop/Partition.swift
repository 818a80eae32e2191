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
  private let multi: MultiHandle
  var transfers: [ObjectIdentifier: Transfer] = [:]
  private(set) var hosts: [HostQueue.Key: HostQueue] = [:]
  private var hostsAtSweep = 1_024
  /// When the last transfer ended; pooled connections are closed some time after.
  var idleSince: Int64?

  /// Jobs whose answer has begun over HTTP/2, maybe before their request was sent in full.
  var earlyAnswers: [ObjectIdentifier] = []

  unowned let poller: Poller
  private var risenHosts: [HostQueue] = []
  /// Begun since the loop last asked.
  private var drains: [Transfer] = []

  init(id: UInt32, options: ConnectionOptions, settings: LoopSettings, poller: Poller) throws(TransportError) {
    let trust = try PartitionTrust(options.tls, standing: settings.trustJudge, poller: poller, readsItself: true)
    let applier = try OptionApplier(
      options: options, trust: trust, limits: settings.transfer, environment: settings.environmentProxies,
      poller: poller)
    let note: MultiHandle.SocketNote = { TransferCallbacks.transfer($0)?.socket = $1 }
    guard let multi = MultiHandle(owner: id, poller: poller, note: note) else {
      throw .noMultiHandle
    }
    multi.set(CURLMOPT_MAX_HOST_CONNECTIONS, settings.connectionsPerHost)
    multi.set(CURLMOPT_MAXCONNECTS, settings.idleConnections)
    multi.set(CURLMOPT_PIPELINING, Int(CLASTRO_PIPE_MULTIPLEX))
    self.id = id
    self.options = options
    self.trust = trust
    self.applier = applier
    self.multi = multi
    self.poller = poller
  }

  var timerAt: Int64? { multi.timerAt }

  deinit {
    for transfer in transfers.values {
      multi.remove(transfer.easy)
      transfer.easy.transfer = nil
    }
    transfers = [:]
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

  /// Forgets hosts without transfers and connections, once there are many: a crawler meets thousands.
  func forgetIdleHosts() {
    guard hosts.count > hostsAtSweep else { return }
    hosts = hosts.filter { !$0.value.isIdle }
    // Not at every end of a transfer where so many are busy.
    hostsAtSweep = max(1_024, 2 * hosts.count)
  }

  /// Begins a transfer. libcurl calls the timer back from within.
  func add(_ transfer: Transfer) -> CURLMcode {
    transfers[ObjectIdentifier(transfer.job)] = transfer
    let code = multi.add(transfer.easy)
    if code == CURLM_OK { idleSince = nil } else { transfers[ObjectIdentifier(transfer.job)] = nil }
    return code
  }

  /// Takes a transfer out; its callbacks are over.
  func remove(_ transfer: Transfer, now: Int64) {
    multi.remove(transfer.easy)
    transfers[ObjectIdentifier(transfer.job)] = nil
    transfer.easy.transfer = nil
    if transfers.isEmpty { idleSince = now }
  }

  func socketReady(_ ready: Poller.Ready, now: Int64) {
    if ready.readable || ready.writable { poller.noteMovement(of: ready.descriptor, at: now) }
    watched { multi.act(on: ready) }
  }

  /// Calls libcurl when its time has come, even if descriptors were ready too.
  func fireTimer(now: Int64) {
    guard let due = multi.timerAt, now >= due else { return }
    watched { multi.fireTimer(now: now) }
  }

  /// Has the watchdog look, where libcurl itself sets no bound to what it reads at once.
  private func watched(_ act: () -> Void) {
    guard let watchdog = poller.watchdog, options.httpVersion == .http2 else { return act() }
    guard let ended = watchdog.watch(act) else { return }
    for transfer in transfers.values where transfer.socket == ended { transfer.noteFlood() }
  }

  /// The next transfer libcurl has finished.
  func nextFinished() -> (Transfer, CURLcode)? {
    while let (context, code) = multi.nextFinished() {
      if let transfer = TransferCallbacks.transfer(context) { return (transfer, code) }
    }
    return nil
  }
}
