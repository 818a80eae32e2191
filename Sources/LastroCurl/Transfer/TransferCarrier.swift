// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import HTTPTypes
internal import Lastro
internal import LastroExchange

/// Carries jobs by libcurl's own transfers: what waits for a connection, what runs, and the connections, in partitions.
///
/// Owner: ``LoopCore``. Thread: the loop's.
final class TransferCarrier {
  /// Of one job, because trust rules changed meanwhile. No program changes them so often on purpose.
  private static let mostRestarts = 16

  private let poller: Poller
  private let context: CarrierContext

  private var partitions: [UInt32: Partition] = [:]
  private var partitionIDs: [ConnectionOptions: UInt32] = [:]
  private var defaultPartition: Partition?
  private var nextPartitionID: UInt32 = 0
  /// Jobs in a host's queue that still want to run. A cancelled one leaves this set at once and its queue when its turn
  /// comes: a storm of cancellations must not search the queues.
  private var waiting: Set<ObjectIdentifier> = []
  /// No transfer and no waiting job expires before.
  private var nextExpiry = Int64.max
  /// Jobs of retired partitions, to begin anew under what is trusted now.
  private var displaced: [TransferJob] = []

  init(_ context: CarrierContext, poller: Poller) {
    self.context = context
    self.poller = poller
  }

  private var settings: LoopSettings { context.settings }
  private var load: LoadCounter { context.load }
  private var clock: LoopClock { context.clock }

  /// Lets go of libcurl's handles, before the poller goes.
  func tearDown() {
    defaultPartition = nil
    partitions = [:]
  }

  var isEmpty: Bool {
    waiting.isEmpty && displaced.isEmpty && partitions.values.allSatisfy { $0.transfers.isEmpty }
  }

  // MARK: The loop's turn

  /// Earliest time at which there is something to do.
  var due: Int64 {
    var due = nextExpiry
    for partition in partitions.values {
      if let timer = partition.timerAt { due = min(due, timer) }
      if let closing = closingTime(of: partition) { due = min(due, closing) }
    }
    return due
  }

  func ready(_ ready: Poller.Ready) { partitions[ready.owner]?.socketReady(ready, now: clock.now) }

  /// Answers what libcurl has finished.
  func finish() {
    for partition in partitions.values { finishTransfers(of: partition) }
  }

  func turn(now: Int64) {
    for partition in partitions.values {
      partition.fireTimer(now: now)
      finishTransfers(of: partition)
      for host in partition.takeRisenHosts() { admit(to: host, in: partition) }
      for transfer in partition.takeDrains() {
        nextExpiry = min(nextExpiry, transfer.expiresAt)
        admit(to: transfer.host, in: partition)
      }
    }
  }

  /// Ends what is late, and closes what is not used.
  func expire(now: Int64) {
    if now >= nextExpiry { expireTransfers(now: now) }
    closeIdlePartitions(now: now)
  }

  // MARK: Jobs

  func begin(_ job: TransferJob) {
    if job.isCancelled { return end(job, .cancelled()) }
    if job.request.body.trailers != nil { return end(job, .noTrailers) }
    do {
      let partition = try self.partition(for: job)
      enter(job, try partition.host(HostQueue.Key(job.request.head)), in: partition)
    } catch {
      end(job, error)
    }
  }

  private func enter(_ job: TransferJob, _ host: HostQueue, in partition: Partition) {
    if host.waitingCount == 0, hasRoom(host, in: partition) {
      run(job, on: host, in: partition)
    } else if waiting.count >= settings.queuedRequests {
      end(job, .queueFull(settings.queuedRequests))
    } else {
      waiting.insert(ObjectIdentifier(job))
      host.append(job)
      nextExpiry = min(nextExpiry, job.expiresAt)
    }
  }

  private func run(_ job: TransferJob, on host: HostQueue, in partition: Partition, isFresh: Bool = false) {
    if job.isCancelled { return end(job, .cancelled()) }
    if clock.now >= job.expiresAt { return end(job, .expiredInQueue(job.request)) }
    if !host.key.isTLS, case .refused(let failure) = partition.trust.rules.judgePlaintext(host.gate.target) {
      return end(job, .refusedTrust(failure))
    }
    guard let easy = partition.applier.handle(for: job, on: host) else { return end(job, .noHandle) }
    let transfer = Transfer(
      job, in: context, easy: easy, host: host, trust: partition.trust)
    do {
      try partition.applier.apply(transfer)
      if isFresh || host.hasSilentConnection { easy.set(CURLOPT_FRESH_CONNECT, 1) }
    } catch {
      easy.transfer = nil
      return end(job, error)
    }
    let code = partition.add(transfer)
    guard code == CURLM_OK else {
      easy.transfer = nil
      return end(job, .refusedByEngine(code))
    }
    host.running += 1
    nextExpiry = min(nextExpiry, transfer.expiresAt)
  }

  func resumeReceiving(_ job: TransferJob) { resume(job) { $0.resumeReceiving() } }

  func resumeSending(_ job: TransferJob) { resume(job) { $0.resumeSending() } }

  private func resume(_ job: TransferJob, _ body: (Transfer) -> CURLcode) {
    guard let (partition, _) = find(job) else { return }
    finishTransfers(of: partition)
    guard let transfer = partition.transfers[ObjectIdentifier(job)] else { return }
    if transfer.isDelivered {
      if transfer.mayEnd(CURLE_OK) { conclude(transfer, in: partition, failure: transfer.outcome(CURLE_OK)) }
      return
    }
    let code = body(transfer)
    // Held-back bytes are delivered inside the call; when we refuse them, libcurl does not end the transfer by itself.
    guard code == CURLE_OK else { return conclude(transfer, in: partition, failure: transfer.outcome(code)) }
    nextExpiry = min(nextExpiry, transfer.expiresAt)
    finishTransfers(of: partition)
  }

  func cancel(_ job: TransferJob) {
    if let (partition, transfer) = find(job) {
      conclude(transfer, in: partition, failure: .cancelled(requestSent: transfer.requestSent))
      return
    }
    guard waiting.remove(ObjectIdentifier(job)) != nil else { return }
    end(job, .cancelled())
    let host = partitionIDs[job.options].flatMap { partitions[$0] }?.hosts[HostQueue.Key(job.request.head)]
    host?.noteCancellation()
  }

  func cancelAll() {
    for job in displaced { end(job, .shutDown) }
    displaced = []
    for partition in partitions.values {
      for host in partition.hosts.values {
        for job in host.remove(where: { _ in true }) where waiting.remove(ObjectIdentifier(job)) != nil {
          end(job, .shutDown)
        }
      }
      for transfer in Array(partition.transfers.values) {
        conclude(transfer, in: partition, failure: .shutDown)
      }
    }
  }

  private func find(_ job: TransferJob) -> (Partition, Transfer)? {
    for partition in partitions.values {
      if let transfer = partition.transfers[ObjectIdentifier(job)] { return (partition, transfer) }
    }
    return nil
  }

  // MARK: Ends

  private func finishTransfers(of partition: Partition) {
    while let (transfer, code) = partition.nextFinished() {
      transfer.abandonBrokenConnection(code)
      if let restart = transfer.restart ?? (transfer.mustGoAgain(code) ? .again : nil) {
        begin(transfer, anew: restart, in: partition)
        continue
      }
      guard transfer.mayEnd(code) else { continue }
      conclude(transfer, in: partition, failure: transfer.outcome(code))
    }
    for transfer in partition.takeEarlyAnswers() where transfer.mayEnd(CURLE_OK) {
      conclude(transfer, in: partition, failure: transfer.outcome(CURLE_OK))
    }
  }

  /// Begins a job anew whose transfer came to nothing.
  private func begin(_ transfer: Transfer, anew restart: Transfer.Restart, in partition: Partition) {
    partition.remove(transfer, now: clock.now)
    transfer.host.running -= 1
    switch restart {
    case .onFreshConnection: run(transfer.job, on: transfer.host, in: partition, isFresh: true)
    case .again:
      transfer.job.resends = transfer.resends + 1
      run(transfer.job, on: transfer.host, in: partition, isFresh: true)
    case .underCurrentTrust where transfer.job.noteRestart() > Self.mostRestarts:
      end(transfer.job, .unsteadyTrust)
    case .underCurrentTrust: displaced.append(transfer.job)
    }
    admit(to: transfer.host, in: partition)  // in case it did not come to run
    forget(partition)
  }

  /// Takes a transfer out of libcurl, answers its job, and lets the next one in.
  private func conclude(_ transfer: Transfer, in partition: Partition, failure: TransportError?) {
    let facts = transfer.facts()
    let host = transfer.host
    if facts.httpVersion == "2" {
      host.learnHTTP2()
    } else if let socket = transfer.socket, let port = transfer.localPort {
      host.learnSocket(socket, localPort: port)
    }
    partition.remove(transfer, now: clock.now)
    host.running -= 1
    if transfer.drainsUntil != nil { host.draining -= 1 }
    load.end()
    if transfer.job.isInspection, failure == nil { transfer.reportInspection(facts) }
    transfer.report(failure, facts: facts)
    admit(to: host, in: partition)
    partition.forgetIdleHosts()
    forget(partition)
  }

  private func admit(to host: HostQueue, in partition: Partition) {
    while host.waitingCount > 0, hasRoom(host, in: partition), let job = host.popFirst() {
      guard waiting.remove(ObjectIdentifier(job)) != nil else { continue }
      run(job, on: host, in: partition)
    }
  }

  /// Whether one more may run. What is answered, and only reads the rest of a body, gives way.
  private func hasRoom(_ host: HostQueue, in partition: Partition) -> Bool {
    if host.running < host.limit(settings) { return true }
    guard host.draining > 0, let drain = partition.drain(of: host) else { return false }
    conclude(drain, in: partition, failure: .cancelled(requestSent: true))
    return host.running < host.limit(settings)
  }

  /// Ends a job that never became a transfer.
  private func end(_ job: TransferJob, _ failure: TransportError) {
    load.end()
    job.finish(failure, facts: nil)
  }

  private func expireTransfers(now: Int64) {
    var next = Int64.max
    for partition in partitions.values {
      for (id, transfer) in partition.transfers {
        // Those let in meanwhile may have taken its place.
        guard partition.transfers[id] === transfer else { continue }
        if transfer.expiresAt <= now { transfer.noteMovement(partition.poller) }
        if transfer.expiresAt <= now {
          transfer.abandonSilentConnection(now: now)
          conclude(
            transfer, in: partition,
            failure: .timedOut(
              transfer, isDelivered: transfer.isDelivered, connectExpiresAt: transfer.connectExpiresAt, now: now))
        } else {
          next = min(next, transfer.expiresAt)
        }
      }
      for host in partition.hosts.values {
        for job in host.remove(where: { $0.expiresAt <= now }) where waiting.remove(ObjectIdentifier(job)) != nil {
          end(job, .expiredInQueue(job.request))
        }
        for job in host.waitingJobs { next = min(next, job.expiresAt) }
      }
    }
    // Jobs let in meanwhile may expire earlier than what was looked at before them.
    for partition in partitions.values {
      for transfer in partition.transfers.values { next = min(next, transfer.expiresAt) }
    }
    nextExpiry = next
  }

  // MARK: Partitions

  private func partition(for job: TransferJob) throws(TransportError) -> Partition {
    let known =
      job.usesDefaultOptions && defaultPartition != nil
      ? defaultPartition : partitionIDs[job.options].flatMap { partitions[$0] }
    if let known {
      if known.trust.isCurrent(now: clock.now) { return known }
      retire(known)
    }
    let partition = try Partition(id: nextPartitionID, options: job.options, settings: settings, poller: poller)
    partitions[partition.id] = partition
    partitionIDs[job.options] = partition.id
    if job.usesDefaultOptions { defaultPartition = partition }
    nextPartitionID += 1
    return partition
  }

  /// What connections were trusted by has changed: none of them serves another request. Transfers that have sent theirs
  /// finish; those that wait begin anew.
  private func retire(_ partition: Partition) {
    partition.retire()
    unlist(partition)
    for host in partition.hosts.values {
      for job in host.remove(where: { _ in true }) where waiting.remove(ObjectIdentifier(job)) != nil {
        displaced.append(job)
      }
    }
    forget(partition)
  }

  /// No job finds the partition from now on.
  private func unlist(_ partition: Partition) {
    if partitionIDs[partition.options] == partition.id { partitionIDs[partition.options] = nil }
    if defaultPartition === partition { defaultPartition = nil }
  }

  /// Closes a retired partition, with its connections, once no transfer uses it.
  private func forget(_ partition: Partition) {
    if partition.isRetired, partition.transfers.isEmpty { partitions[partition.id] = nil }
  }

  func takeDisplaced() {
    while !displaced.isEmpty {
      let jobs = displaced
      displaced = []
      for job in jobs { begin(job) }
    }
  }

  private func closingTime(of partition: Partition) -> Int64? {
    partition.idleSince.map { $0.adding(nanoseconds: settings.idleLifetime) }
  }

  /// libcurl looks at the age of pooled connections only when a transfer begins; without any, they are closed here.
  private func closeIdlePartitions(now: Int64) {
    for partition in partitions.values {
      guard let closing = closingTime(of: partition), partition.transfers.isEmpty else { continue }
      guard now >= closing || !partition.trust.isCurrent(now: now) else { continue }
      partitions[partition.id] = nil
      unlist(partition)
    }
  }
}
