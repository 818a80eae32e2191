// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP
internal import LastroSupport
internal import LastroWire

/// All streams of a loop: waiting to be dialed, dialing, and connected.
///
/// The cost of a turn of the loop does not grow with the number of open streams: only streams that are ready, late or
/// being dialed are visited. Streams do not count as transfers. They have no queue except that for dialing, and no idle
/// limit, and their number is limited only by descriptors.
///
/// The hub is the guest of the loop through which libcurl dials, for streams and for the links of an engine.
final class StreamHub: LoopGuest {
  /// The poller's owner number for descriptors of open streams.
  static let descriptorOwner = UInt32.max - 1
  /// The owner number for ``SocketLink`` descriptors.
  static let linkOwner = UInt32.max - 2
  /// The first owner number in the poller for the shards that libcurl dials with.
  static let firstShardOwner: UInt32 = 1 << 31
  /// The maximum number of restarts of one dial because trust rules changed.
  private static let mostRestarts = 16
  /// The maximum number of restarts of one dial because libcurl closed its new connection.
  private static let mostLosses = 3
  /// The number of profiles from which on unused profiles are removed.
  private static let spareProfiles = 16

  let settings: CurlSettings
  let context: LoopContext
  let poller: Poller
  private let turnShare: TurnShare
  private let load: LoadCounter
  var ports: [UInt64: any StreamPort] = [:]
  /// The dials that wait for files or for addresses, or for a race, by their ids.
  var pending: [UInt64: PendingDial] = [:]
  /// The addresses that races could not connect to. Later races try them last.
  var deadAddresses = DeadAddresses<DeadAddressKey>()
  private(set) lazy var fileReads = TLSFileReads(hub: self)
  var byDescriptor: [Int32: any StreamPort] = [:]
  /// The deadlines of streams and dials. Deadlines of completed operations stay, and nothing happens when they are due.
  var deadlines = DeadlineHeap()
  /// The links by their descriptors. The system assigns the lowest free descriptor numbers.
  // Unchecked, because only the loop's thread uses it, and a look-up calls no code that could re-enter.
  @exclusivity(unchecked) private var links: [Unowned<SocketLink>?] = []

  private var profiles: [ConnectionOptions: StreamProfile] = [:]
  private var defaultProfile: StreamProfile?
  private var shards: [UInt32: StreamShard] = [:]
  /// The shards with dials under way, in the order in which they began.
  private var dialingShards: [StreamShard] = []
  /// A shard with room for each set of fixed name answers.
  private var roomy: [[ConnectionOptions.Resolution]: StreamShard] = [:]
  private var nextShardOwner = firstShardOwner
  private var hosts: [TrustTarget: HostDials] = [:]
  /// The queued dials.
  private var waiting: [UInt64: StreamDial] = [:]
  /// The dials whose turn has come. A dial may fail as soon as it starts and make room for the next one, and many in a
  /// row must not nest.
  private var startable: [StreamDial] = []
  /// The delegates of carried dials and connections. Callers do not own these as streams: they end with the exchanges
  /// that they serve.
  var delegates: [UInt64: any DialDelegate] = [:]
  private var isStarting = false
  private(set) var isShutDown = false

  init(settings: CurlSettings, context: LoopContext, poller: Poller, load: LoadCounter) {
    self.settings = settings
    self.context = context
    self.poller = poller
    turnShare = TurnShare(bytes: settings.tlsBytesPerTurn)
    self.load = load
  }

  var isEmpty: Bool {
    ports.count + pending.count + waiting.count == delegates.count
  }

  // MARK: The loop's turn

  /// The earliest time at which there is work to do.
  var due: Int64 { dialingShards.reduce(deadlines.next) { min($0, $1.timerAt ?? .max) } }

  func beginTurn() { turnShare.beginTurn() }

  func ready(_ ready: Readiness) {
    switch ready.owner {
    case Self.linkOwner:
      if ready.descriptor < links.count { links[Int(ready.descriptor)]?.value.ready(ready) }
    case Self.descriptorOwner: byDescriptor[ready.descriptor]?.ready(ready)
    default: shards[ready.owner]?.socketReady(ready)
    }
  }

  func register(_ link: SocketLink) {
    let index = Int(link.descriptor)
    while links.count <= index { links.append(nil) }
    links[index] = Unowned(value: link)
  }

  func unregister(_ link: SocketLink) {
    let index = Int(link.descriptor)
    if index < links.count { links[index] = nil }
  }

  func turn(now: Int64) {
    for shard in dialingShards { finishDials(of: shard) }
    while let id = deadlines.popDue(now)?.number {
      if let port = ports[id] {
        port.expire(now: now)
      } else if let race = pending[id]?.race {
        race.expire(now: now)
      } else if let dial = waiting[id] {
        giveUp(id, .dialTimeout(dial))
      } else if let dial = pending[id] {
        giveUp(id, dial.lateness)
      } else {
        fileReads.expire(id, now: now)
      }
    }
    for shard in dialingShards {
      shard.fireTimer(now: now)
      finishDials(of: shard)
    }
  }

  func perform(_ command: StreamCommand) {
    switch command {
    case .dial(let dial):
      enter(dial)
      tidyDeadlines()
    case .resolved(let id, let addresses): resolved(id, addresses)
    case .filesRead(let id, let answer):
      fileReads.answered(id, answer)
      tidyDeadlines()
    case .read(let read):
      guard let port = ports[read.id] else { return _ = read.answer.offer(.failure(over)) }
      port.read(read)
      tidyDeadlines()
    case .write(let write):
      guard let port = ports[write.id] else { return _ = write.answer.offer(.failure(over)) }
      port.write(write)
      tidyDeadlines()
    case .close(let id):
      if let port = ports[id] { end(port, .streamClosed) } else { giveUp(id, .cancelled()) }
    }
  }

  private var over: TransportError { isShutDown ? .shutDown : .streamClosed }

  /// Ends all streams at once, because they have no end of their own to wait for.
  func shutDown() {
    isShutDown = true
    // In the order in which they were dialed.
    let dials = Array(waiting.keys) + Array(pending.keys)
    for id in dials.sorted() where delegates[id] == nil { giveUp(id, .shutDown) }
    for port in ports.values.sorted(by: { $0.id < $1.id }) where delegates[port.id] == nil { end(port, .shutDown) }
  }

  /// Ends a dial that has not been passed to libcurl.
  func giveUp(_ id: UInt64, _ error: TransportError) {
    if let race = pending[id]?.race { return race.end(error) }
    guard let dial = waiting.removeValue(forKey: id) else { return drop(pending: id, error) }
    hosts[dial.server]?.gaveUp { waiting[$0] != nil }
    refuse(dial, error)
  }

  /// Ends a dial that waits for files or addresses, or whose race made no connection.
  func drop(pending id: UInt64, _ error: TransportError) {
    guard let dial = pending.removeValue(forKey: id) else { return }
    dial.giveUp?()
    refuse(dial.dial, error, leaves: true)
  }

  /// Releases libcurl's handles before the poller is destroyed.
  func tearDown() {
    pending = [:]
    fileReads.removeAll()
    roomy = [:]
    dialingShards = []
    shards = [:]
    profiles = [:]
    defaultProfile = nil
  }

  /// Rebuilds the deadlines if there are too many, since most belong to completed operations.
  private func tidyDeadlines() {
    let count = ports.count + waiting.count + pending.count
    guard deadlines.count > 4 * count + 1_024 else { return }
    deadlines = DeadlineHeap()
    for port in ports.values {
      for time in port.expirations { deadlines.add(time, port.id) }
    }
    for dial in Array(waiting.values) + pending.values.map(\.dial) { deadlines.add(dial.expiresAt, dial.id) }
    fileReads.addDeadlines()
    for dial in pending.values { dial.race?.addDeadline() }
  }

  // MARK: Dialing

  /// Dials for an exchange or a race. The connection, or the reason why there is none, is reported to `delegate` during
  /// the loop's turn.
  func dial(_ dial: StreamDial, for delegate: any DialDelegate) {
    delegates[dial.id] = delegate
    enter(dial)
  }

  /// Ends a carried dial or connection. Nothing more is reported to its delegate.
  func drop(_ id: UInt64) {
    delegates[id] = nil
    perform(.close(id))
  }

  private func enter(_ dial: StreamDial) {
    // An attempt uses the place of its race.
    if dial.isAttempt { return begin(dial, restarts: 0) }
    if isShutDown, dial.kind != .carried { return refuse(dial, .shutDown) }
    let key = dial.server
    if hosts[key, default: HostDials()].running < settings.engine.dialsPerHost {
      hosts[key, default: HostDials()].running += 1
      begin(dial, restarts: 0)
    } else if waiting.count >= settings.engine.maximumQueuedRequests {
      refuse(dial, .queueFull(settings.engine.maximumQueuedRequests))
    } else {
      hosts[key]?.append(dial.id)
      waiting[dial.id] = dial
      deadlines.add(dial.expiresAt, dial.id)
    }
  }

  /// Records that a dial has ended, so that the next one to its host may start.
  func leave(_ dial: StreamDial) {
    if dial.isAttempt { return }
    let key = dial.server
    if let next = hosts[key]?.popFirst({ waiting[$0] != nil }), let dial = waiting.removeValue(forKey: next) {
      startable.append(dial)
    } else {
      hosts[key]?.running -= 1
      if hosts[key]?.running == 0 { hosts[key] = nil }
    }
    guard !isStarting else { return }
    isStarting = true
    defer { isStarting = false }
    while let next = startable.popLast() { begin(next, restarts: 0) }
  }

  func begin(_ dial: StreamDial, restarts: Int) {
    if dial.answer.isGiven { return refuse(dial, .cancelled(), leaves: true) }
    if monotonicNow() >= dial.expiresAt { return refuse(dial, .dialTimeout(dial), leaves: true) }
    do throws(TransportError) {
      let profile = try self.profile(for: dial.options)
      try checkPlaintext(dial, profile)
      if fileReads.hold(dial, profile, restarts: restarts) { return }
      switch dial.kind {
      case .bytes, .carried:
        if !startRace(dial, profile) { try beginSession(dial, profile, restarts: restarts) }
      case .datagrams: beginDatagrams(dial, profile)
      }
    } catch {
      refuse(dial, error, leaves: true)
    }
  }

  /// Checks that rules allow the host to be contacted without TLS.
  func checkPlaintext(_ dial: StreamDial, _ profile: StreamProfile) throws(TransportError) {
    guard dial.request.tls == nil, dial.request.role == .server else { return }
    try profile.trust.rules.checkPlaintext(dial.server)
  }

  private func beginSession(_ dial: StreamDial, _ profile: StreamProfile, restarts: Int) throws(TransportError) {
    guard let easy = EasyHandle(), let shard = shard(for: profile.options.resolutions) else {
      throw .noHandle
    }
    let session: StreamSession
    do throws(TransportError) {
      session = try StreamSession(dial, easy: easy, profile: profile, shard: shard, hub: self)
      if profile.trust.allowsResumption, let sessions = sessions(of: dial, for: profile) { easy.use(sessions) }
      session.restarts = restarts
      try profile.apply(session)
      let code = shard.add(easy)
      guard code == CURLM_OK else {
        throw .refusedStream(code)
      }
    } catch {
      // A shard that was created for this stream alone serves no other.
      if shard.streams == 0, !shard.resolutions.isEmpty { forget(shard) }
      throw error
    }
    if !shard.hasRoom { roomy[shard.resolutions] = nil }
    profile.uses += 1
    shard.dialing += 1
    if shard.dialing == 1 { dialingShards.append(shard) }
    ports[dial.id] = session
    deadlines.add(dial.expiresAt, dial.id)
  }

  private func finishDials(of shard: StreamShard) {
    while let (session, code) = shard.nextFinished() {
      if session.mustRestart {
        restart(session, atMost: Self.mostRestarts, or: .unsteadyTrust)
        continue
      }
      guard code == CURLE_OK else {
        end(session, TransportError(code, dialing: session))
        continue
      }
      guard session.facts.tls != nil || !session.isTLS, session.open() else {
        // Once a second, when libcurl dials, it closes unused connections whose server has sent data, such as tickets.
        // That includes this one if another dial started in the same turn. Nothing was sent on it.
        restart(session, atMost: Self.mostLosses, or: .goneAtOnce)
        continue
      }
      dialEnded(on: session.shard)
      hand(session)
    }
  }

  private func restart(_ session: StreamSession, atMost most: Int, or error: TransportError) {
    drop(session)
    session.detach()
    if session.restarts < most {
      begin(session.dial, restarts: session.restarts + 1)
    } else {
      refuse(session.dial, error, leaves: true)
    }
  }

  private func dialEnded(on shard: StreamShard) {
    shard.dialing -= 1
    if shard.dialing == 0 { dialingShards.removeAll { $0 === shard } }
  }

  /// Ends a stream at any stage.
  func end(_ port: any StreamPort, _ error: TransportError) {
    guard ports[port.id] != nil else { return }
    if let session = port as? StreamSession {
      let wasDialing = session.stream == nil
      drop(session)
      session.end(error)
      reportEnd(of: session.dial, error)
      if wasDialing { leave(session.dial) }
    } else if let datagrams = port as? DatagramSession {
      ports[port.id] = nil
      byDescriptor[datagrams.descriptor] = nil
      datagrams.end(error)
      load.decrement()
    }
  }

  /// Removes a stream from all lists. Its handle still has to be removed from libcurl.
  private func drop(_ session: StreamSession) {
    ports[session.id] = nil
    session.profile.uses -= 1
    if let stream = session.stream { byDescriptor[stream.descriptor] = nil } else { dialEnded(on: session.shard) }
    let shard = session.shard
    if shard.streams <= 1 {
      // Keep one empty shard for its DNS cache.
      if shard.resolutions.isEmpty, roomy[[]] == nil || roomy[[]] === shard {
        roomy[[]] = shard
      } else {
        forget(shard)
      }
    } else if roomy[shard.resolutions] == nil {
      roomy[shard.resolutions] = shard
    }
  }

  private func forget(_ shard: StreamShard) {
    if roomy[shard.resolutions] === shard { roomy[shard.resolutions] = nil }
    shards[shard.owner] = nil
  }

  /// Ends a dial that has no session.
  func refuse(_ dial: StreamDial, _ error: TransportError, leaves: Bool = false) {
    dial.answer.offer(.failure(error))
    reportEnd(of: dial, error)
    if leaves { leave(dial) }
  }

  private func reportEnd(of dial: StreamDial, _ error: TransportError) {
    guard dial.kind == .carried || dial.isAttempt else { return load.decrement() }
    delegates.removeValue(forKey: dial.id)?.fail(dial.id, error)
  }

  private func shard(for resolutions: [ConnectionOptions.Resolution]) -> StreamShard? {
    if let shard = roomy[resolutions] { return shard }
    guard let shard = StreamShard(owner: nextShardOwner, resolutions: resolutions, poller: poller) else { return nil }
    nextShardOwner += 1
    if nextShardOwner == Self.linkOwner { nextShardOwner = Self.firstShardOwner }
    shards[shard.owner] = shard
    roomy[resolutions] = shard
    return shard
  }

  /// Returns the latest profile for the options, which may be outdated; `nil` if there is none.
  func knownProfile(for shared: SharedOptions) -> StreamProfile? {
    if shared === settings.defaults, let defaultProfile { return defaultProfile }
    return profiles[shared.options]
  }

  func profile(for shared: SharedOptions) throws(TransportError) -> StreamProfile {
    let options = shared.options, areDefault = shared === settings.defaults
    let known = knownProfile(for: shared)
    if let known, known.trust.isCurrent { return known }
    if profiles.count >= Self.spareProfiles { profiles = profiles.filter { $0.value.uses > 0 } }
    let profile = try StreamProfile(options: options, settings: settings, poller: poller, turn: turnShare, after: known)
    profiles[options] = profile
    if areDefault { defaultProfile = profile }
    return profile
  }
}

/// A user of dials for HTTP. It is called during the loop's turn from within the hub, so it only records the event, and
/// acts in its own turn.
protocol DialDelegate: AnyObject {
  /// Returns the TLS sessions of earlier connections with a profile. They are resumed if trust allows it.
  func sessions(of dial: UInt64, for profile: StreamProfile) -> SessionShare?

  /// Receives a connected session, and owns it from now on.
  func didConnect(_ session: StreamSession)

  /// Reports that a dial failed, or that its connection has ended.
  func fail(_ id: UInt64, _ error: TransportError)
}

/// A dial that waits for the files of its TLS options, for the addresses of a datagram stream's host, or for a race.
struct PendingDial {
  let dial: StreamDial
  /// Whether the dial waits for files.
  var readsFiles = false
  /// The race that has not ended, if a resolver supplies the addresses of a name.
  var race: DialRace?
  /// A closure that cancels the look-up of a resolver; `nil` for files and the system's look-ups.
  var giveUp: (@Sendable () -> Void)?

  /// The error if the dial's time passes.
  var lateness: TransportError {
    readsFiles ? .lateFiles(of: dial.name, within: dial.request.connectTimeout) : .dialTimeout(dial)
  }
}

/// An unowned reference for a table.
private struct Unowned<Value: AnyObject> {
  unowned let value: Value
}

extension LoopInbox {
  /// Posts a command for the loop's streams. Returns false if the loop has ended.
  func post(_ command: StreamCommand) -> Bool { perform { ($0.guest as? StreamHub)?.perform(command) } }
}
