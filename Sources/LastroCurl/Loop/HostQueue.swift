// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroExchange

/// The jobs for one host (scheme, name, port) within a partition: how many run, and which wait.
///
/// Waiting happens here and not in libcurl, whose time limits would run meanwhile, and whose cost grows with the
/// number of transfers it holds.
final class HostQueue {
  struct Key: Hashable {
    var isTLS: Bool
    var authority: String

    init(_ head: HTTPRequest) {
      isTLS = head.scheme == "https"
      authority = head.authority ?? ""
    }
  }

  let key: Key
  var running = 0
  /// Those among them that are answered, and only read the rest of a body.
  var draining = 0
  /// Taken jobs leave a hole, so that they are not kept alive.
  private var waiting: [TransferJob?] = []
  private var nextWaiting = 0
  /// Known to speak HTTP/2: many HTTP/2 streams share a connection.
  private(set) var isHTTP2 = false
  /// Known to speak HTTP/1.1.
  private var isHTTP1 = false
  /// Whether a connection has stood at least once. Before, few transfers are let in: each may start a look-up thread.
  private(set) var isWarm = false
  /// Whether its requests go through a proxy.
  let isProxied: Bool
  /// Host and port of that proxy; empty for none.
  let proxyName: String
  /// Stands before its server, and the https proxy on the way to it.
  let gate: TLSGate
  /// Whether requests may come to share a connection.
  private let mayMultiplex: Bool
  /// Descriptors of connections that were fit to be used again when last seen, by local port. Some are closed by now.
  private var sockets: [Int32: Int32] = [:]
  /// Connections that fell silent while others wait on them.
  private var silent: [SharedConnection] = []
  /// Its latest answer's head.
  // Unchecked because the loop's thread alone touches it, and making a head calls nothing that comes back here.
  @exclusivity(unchecked) var heads = HeadMemory()
  private unowned let partition: Partition
  /// Its TLS sessions, and those of its proxy.
  private(set) lazy var sessions = gate.isNeeded ? SessionShare() : nil

  /// - Parameter proxy: its URL; empty for none.
  init(key: Key, partition: Partition, proxy: String, mayMultiplex: Bool) throws(TransportError) {
    self.key = key
    self.partition = partition
    isProxied = !proxy.isEmpty
    proxyName = TrustTarget.proxyName(proxy)
    guard let target = TrustTarget(authority: key.authority, defaultPort: key.isTLS ? 443 : 80) else {
      throw .unreadableHost
    }
    gate = TLSGate(
      target, isTLS: key.isTLS, proxyTarget: try TLSGate.proxyTarget(of: proxy), terms: partition.trust.terms,
      recordsChain: false)
    self.mayMultiplex = mayMultiplex
  }

  /// Cancelled jobs still in the queue; dropped together once they are the greater part.
  private var cancelledCount = 0

  var waitingCount: Int { waiting.count - nextWaiting }
  var isIdle: Bool { running == 0 && waitingCount == 0 }

  /// The most streams of HTTP/2 to a host whose transfers are libcurl's own.
  private static let mostStreams = 100

  func limit(_ settings: LoopSettings) -> Int {
    if isHTTP2 { return min(settings.http2StreamsPerHost, Self.mostStreams) }
    // A transfer that finds the first connection's HTTP/2 streams taken opens another, so wait until the protocol is
    // known.
    if isWarm, mayMultiplex, !isHTTP1 {
      return min(settings.connectionsPerHost, settings.http2StreamsPerHost, Self.mostStreams)
    }
    return isWarm ? settings.connectionsPerHost : min(settings.connectionsPerHost, settings.lookups)
  }

  /// A connection stands: more may be let in.
  func learnReachable() {
    guard !isWarm else { return }
    isWarm = true
    partition.limitRose(of: self)
  }

  /// HTTP/2 streams share connections: more may be let in.
  func learnHTTP2() {
    guard mayMultiplex, !isHTTP2 else { return }
    isHTTP2 = true
    partition.limitRose(of: self)
  }

  /// Every request needs a connection for itself.
  func learnHTTP1() {
    guard mayMultiplex, !isHTTP1, !isHTTP2 else { return }
    isHTTP1 = true
    partition.limitRose(of: self)
  }

  /// A transfer is answered, and only reads the rest of its body.
  func noteDrain(_ transfer: Transfer) {
    draining += 1
    partition.noteDrain(transfer)
  }

  /// Remembers the descriptor of a connection, for looking at it before it is used again: libcurl does not tell then.
  func learnSocket(_ socket: Int32, localPort: Int) {
    guard let port = Int32(exactly: localPort), sockets[port] != socket else { return }
    guard partition.poller.isSocket(socket, boundTo: port) else { return }
    sockets[port] = socket
  }

  /// The socket of the pooled connection with this local port, if it is still open.
  func socket(localPort: Int32) -> Int32? {
    if let socket = sockets[localPort], partition.poller.isSocket(socket, boundTo: localPort) { return socket }
    sockets[localPort] = partition.poller.socket(boundTo: localPort)
    return sockets[localPort]
  }

  /// A connection fell silent on which others wait.
  func noteSilence(of connection: SharedConnection) { silent.append(connection) }

  /// Whether libcurl might put a request on a connection that fell silent, because others still wait on it.
  var hasSilentConnection: Bool {
    if silent.isEmpty { return false }
    silent.removeAll { !$0.isSilent || $0.running == 0 }
    return !silent.isEmpty
  }

  /// An answer to a request with a body has begun; it may be whole before the request is.
  func noteEarlyAnswer(_ job: TransferJob) { partition.earlyAnswers.append(ObjectIdentifier(job)) }

  /// Whether its peer has ended the connection with this local port. Only in the turn in which libcurl found out.
  func isEnded(localPort: Int) -> Bool { partition.poller.isEnded(localPort: Int32(clamping: localPort)) }

  func append(_ job: TransferJob) { waiting.append(job) }

  /// The first job that still wants to run.
  func popFirst() -> TransferJob? {
    guard nextWaiting < waiting.count else { return nil }
    defer {
      nextWaiting += 1
      compact()
    }
    return waiting[nextWaiting].take()
  }

  /// A waiting job was cancelled. The queue is not searched for it, but swept once half of it is such jobs.
  func noteCancellation() {
    cancelledCount += 1
    guard cancelledCount > 64, cancelledCount * 2 > waitingCount else { return }
    _ = remove { $0.isCancelled }
    cancelledCount = 0
  }

  /// Takes out what `shouldRemove` names.
  func remove(where shouldRemove: (TransferJob) -> Bool) -> [TransferJob] {
    var removed: [TransferJob] = []
    var kept: [TransferJob] = []
    for job in waitingJobs {
      if shouldRemove(job) { removed.append(job) } else { kept.append(job) }
    }
    waiting = kept
    nextWaiting = 0
    return removed
  }

  var waitingJobs: some Sequence<TransferJob> { waiting[nextWaiting...].lazy.compactMap { $0 } }

  private func compact() {
    if nextWaiting == waiting.count {
      waiting.removeAll()
      nextWaiting = 0
    } else if nextWaiting > 64, nextWaiting * 2 > waiting.count {
      waiting.removeFirst(nextWaiting)
      nextWaiting = 0
    }
  }
}
