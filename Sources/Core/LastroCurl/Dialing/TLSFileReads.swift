// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// The reads of TLS files that the dials and requests of a loop wait for.
///
/// The loop's thread opens no files. Dials wait until the files of their TLS options have been read on another thread.
/// Requests that would use a connection wait, at most once a second, until the files have been checked for changes.
/// The hub calls ``expire(_:now:)`` when the deadline of a check is due. Owner: ``StreamHub``. Thread: the loop's.
final class TLSFileReads {
  /// A read of files that is in progress, with its waiters.
  private final class Read {
    let id = StreamID.next()
    let profile: StreamProfile
    /// The files that connections need; `nil` to check whether files that were read before have changed.
    let missing: TLSFileRequest?
    /// The time at which requests stop waiting for a check. If a file cannot be checked by then, it counts as
    /// unchanged.
    let slowAt: Int64
    var waiters: [(until: Int64, proceed: (TransportError?) -> Void)] = []

    init(_ missing: TLSFileRequest?, of profile: StreamProfile) {
      self.missing = missing
      self.profile = profile
      slowAt = missing == nil ? monotonicNow().adding(TLSFileReads.lookLimit) : .max
    }
  }

  /// The maximum time that requests wait for a check.
  private static let lookLimit = Duration.seconds(5)

  private unowned let hub: StreamHub
  private var reads: [UInt64: Read] = [:]

  init(hub: StreamHub) { self.hub = hub }

  // MARK: Waiting

  /// Makes a dial wait until its files have been read or checked. The dial begins again afterwards, or ends with the
  /// reason why a file cannot be used. Returns false if neither is necessary.
  func hold(_ dial: StreamDial, _ profile: StreamProfile, restarts: Int) -> Bool {
    guard dial.kind != .datagrams, profile.speaksTLS(on: dial) else { return false }
    let files = profile.trust.files, id = dial.id
    let identity = dial.request.tls == nil ? nil : profile.identity(for: dial.target.host, dial.request.role)
    // A read may never end, so the closure does not retain the dial.
    let release = { [unowned hub] (error: TransportError?) in
      // The dial was abandoned meanwhile.
      guard let dial = hub.pending.removeValue(forKey: id)?.dial else { return }
      if let error { hub.refuse(dial, error, leaves: true) } else { hub.begin(dial, restarts: restarts) }
    }
    if let request = files.missing(for: identity) {
      wait(for: request, of: profile, until: .max, release)
    } else if files.mustLook(now: monotonicNow()) {
      wait(for: nil, of: profile, until: dial.expiresAt, release)
    } else {
      return false
    }
    hub.pending[id] = PendingDial(dial: dial, readsFiles: true)
    hub.deadlines.add(dial.expiresAt, id)
    return true
  }

  /// Reads the files that are missing, or checks whether files have changed. Calls `proceed` afterwards, or at `until`.
  ///
  /// - Parameter missing: the files that a connection needs; `nil` for a check.
  func wait(
    for missing: TLSFileRequest?, of profile: StreamProfile, until: Int64,
    _ proceed: @escaping (TransportError?) -> Void
  ) {
    let known = reads.values.first { $0.profile === profile && $0.missing == missing }
    let read = known ?? Read(missing, of: profile)
    let id = read.id, end = min(until, read.slowAt), inbox = hub.context.inbox
    read.waiters.append((end, proceed))
    hub.deadlines.add(end, id)
    guard known == nil else { return }
    reads[id] = read
    // The profile is in use until the waiters have started.
    profile.uses += 1
    TLSFileReader.submit(missing ?? profile.trust.files.look()) { _ = inbox.post(.filesRead(id, $0)) }
  }

  // MARK: Events

  /// Stores the contents, or compares them with those in use, and starts the dials and requests that wait for them.
  func answered(_ id: UInt64, _ answer: TLSFileAnswer) {
    guard let read = reads.removeValue(forKey: id) else { return }
    let files = read.profile.trust.files
    var failure: TransportError?
    do throws(TransportError) {
      if read.missing == nil {
        files.compare(with: answer, now: monotonicNow())
      } else {
        try files.store(answer, now: monotonicNow())
      }
    } catch {
      failure = error
    }
    for waiter in read.waiters { waiter.proceed(failure) }
    read.profile.uses -= 1
  }

  /// Starts the dials and requests that have waited long enough for a check.
  func expire(_ id: UInt64, now: Int64) {
    guard let read = reads[id] else { return }
    if now >= read.slowAt { read.profile.trust.files.postponeLook() }
    let late = read.waiters.filter { $0.until <= now }
    read.waiters.removeAll { $0.until <= now }
    for waiter in late { waiter.proceed(nil) }
  }

  /// Adds the deadlines of all checks.
  func addDeadlines() {
    for read in reads.values {
      for waiter in read.waiters { hub.deadlines.add(waiter.until, read.id) }
    }
  }

  /// Releases all reads. No closure is called.
  func removeAll() { reads = [:] }
}

extension StreamProfile {
  /// Returns whether TLS is used with the host or with a proxy.
  func speaksTLS(on dial: StreamDial) -> Bool {
    if dial.request.tls != nil { return true }
    let proxy = proxy(isTLS: false, authority: dial.name)
    return proxy.lowercased().hasPrefix("https:")
  }
}
