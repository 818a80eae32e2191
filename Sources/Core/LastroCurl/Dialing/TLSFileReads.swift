// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// The reads of TLS files that the dials and requests of a loop wait for.
///
/// The loop's thread opens no files. Dials wait until the files of their TLS options have been read on another thread.
/// Requests that would use a connection wait, at most once a second, until the files have been checked for changes.
/// The owner keeps the deadlines, and calls ``expire(_:now:)`` when the deadline of a check is due. Owner:
/// ``StreamHub``. Thread: the loop's.
final class TLSFileReads {
  /// A read of files that is in progress, with its waiters.
  private final class Read {
    let id = StreamID.next()
    let profile: StreamProfile
    let request: TLSFileRequest
    /// Whether the files were read before, so that only changes matter.
    let isLook: Bool
    /// The time at which requests stop waiting for a check. If a file cannot be checked by then, it counts as
    /// unchanged.
    let slowAt: Int64
    var waiters: [(until: Int64, proceed: (TransportError?) -> Void)] = []

    init(_ request: TLSFileRequest, of profile: StreamProfile, isLook: Bool, slowAt: Int64 = .max) {
      self.request = request
      self.profile = profile
      self.isLook = isLook
      self.slowAt = slowAt
    }
  }

  /// The maximum time that requests wait for a check.
  private static let lookLimit = Duration.seconds(5)

  private let inbox: LoopInbox
  private var reads: [UInt64: Read] = [:]
  /// The dials that wait for the files of their TLS options, by their ids.
  private(set) var dials: [UInt64: StreamDial] = [:]

  /// Creates an object without reads.
  ///
  /// - Parameter inbox: the loop's inbox, which receives ``StreamCommand/filesRead(_:_:)``.
  init(inbox: LoopInbox) { self.inbox = inbox }

  // MARK: Waiting

  /// Makes a dial wait until its files have been read or checked. Returns false if neither is necessary.
  ///
  /// - Parameters:
  ///   - deadlines: receives the deadlines of the dial and of the check.
  ///   - proceed: a closure that starts the dial again, or ends it with the reason why a file cannot be used. It is
  ///     not called for a dial that was abandoned.
  func hold(
    _ dial: StreamDial, _ profile: StreamProfile, _ deadlines: inout DeadlineHeap,
    _ proceed: @escaping (StreamDial, TransportError?) -> Void
  ) -> Bool {
    guard dial.kind != .datagrams, profile.applier.speaksTLS(on: dial) else { return false }
    let files = profile.trust.files, id = dial.id
    let identity = dial.request.tls == nil ? nil : profile.applier.identity(for: dial.target.host, dial.request.role)
    // A read may never end, so the closure does not retain the dial.
    let release = { [unowned self] (error: TransportError?) in
      // The dial was abandoned meanwhile.
      guard let dial = dials.removeValue(forKey: id) else { return }
      proceed(dial, error)
    }
    if let request = files.missing(for: identity) {
      read(request, of: profile, release)
    } else if files.mustLook(now: monotonicNow()) {
      look(at: profile, until: dial.expiresAt, &deadlines, release)
    } else {
      return false
    }
    dials[id] = dial
    deadlines.add(dial.expiresAt, id)
    return true
  }

  /// Removes and returns an abandoned dial. Returns `nil` if the dial does not wait for files.
  func remove(_ id: UInt64) -> StreamDial? { dials.removeValue(forKey: id) }

  private func read(
    _ request: TLSFileRequest, of profile: StreamProfile, _ proceed: @escaping (TransportError?) -> Void
  ) {
    let known = reads.values.first { !$0.isLook && $0.profile === profile && $0.request == request }
    let read = known ?? Read(request, of: profile, isLook: false)
    read.waiters.append((.max, proceed))
    if known == nil { submit(read) }
  }

  /// Checks whether files have changed. Calls `proceed` afterwards, or at `until`.
  ///
  /// - Parameter deadlines: receives the deadline of the check.
  func look(
    at profile: StreamProfile, until: Int64, _ deadlines: inout DeadlineHeap,
    _ proceed: @escaping (TransportError?) -> Void
  ) {
    let known = reads.values.first { $0.isLook && $0.profile === profile }
    let slowAt = monotonicNow().adding(Self.lookLimit)
    let read = known ?? Read(profile.trust.files.look, of: profile, isLook: true, slowAt: slowAt)
    let end = min(until, read.slowAt)
    read.waiters.append((end, proceed))
    deadlines.add(end, read.id)
    if known == nil { submit(read) }
  }

  private func submit(_ read: Read) {
    let id = read.id, inbox = inbox
    reads[id] = read
    // The profile is in use until the waiters have started.
    read.profile.uses += 1
    TLSFileReader.submit(read.request) { _ = inbox.post(StreamCommand.filesRead(id, $0)) }
  }

  // MARK: Events

  /// Stores the contents, or compares them with those in use, and starts the dials and requests that wait for them.
  func answered(_ id: UInt64, _ answer: TLSFileAnswer) {
    guard let read = reads.removeValue(forKey: id) else { return }
    let files = read.profile.trust.files
    var failure: TransportError?
    do throws(TransportError) {
      if read.isLook {
        files.compare(with: answer, now: monotonicNow())
      } else {
        try files.take(answer, now: monotonicNow())
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
    if now >= read.slowAt { read.profile.trust.files.noteSlowLook() }
    let late = read.waiters.filter { $0.until <= now }
    read.waiters.removeAll { $0.until <= now }
    for waiter in late { waiter.proceed(nil) }
  }

  /// Adds the deadlines of all dials and checks.
  func addDeadlines(to deadlines: inout DeadlineHeap) {
    for dial in dials.values { deadlines.add(dial.expiresAt, dial.id) }
    for read in reads.values {
      for waiter in read.waiters { deadlines.add(waiter.until, read.id) }
    }
  }

  /// Releases all dials and reads. No closure is called.
  func removeAll() {
    dials = [:]
    reads = [:]
  }
}

extension OptionApplier {
  /// Returns whether TLS is used with the host or with a proxy.
  func speaksTLS(on dial: StreamDial) -> Bool {
    if dial.request.tls != nil { return true }
    let proxy = proxy(isTLS: false, authority: dial.name)
    return proxy.lowercased().hasPrefix("https:")
  }
}
