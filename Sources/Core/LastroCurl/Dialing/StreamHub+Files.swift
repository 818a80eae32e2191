// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

// The loop's thread opens no files. Dials wait until the files of their TLS options have been read on another thread.
// Requests that would use a connection wait, at most once a second, until the files have been checked for changes.
extension StreamHub {
  /// A read of files that is in progress, with its waiters.
  final class FileRead {
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

  /// Makes a dial wait for files, and starts it again afterwards. Returns false if no file has to be read.
  func awaitsFiles(_ dial: StreamDial, _ profile: StreamProfile, restarts: Int) -> Bool {
    guard dial.kind != .datagrams, profile.applier.speaksTLS(on: dial) else { return false }
    let files = profile.trust.files, id = dial.id
    let identity = dial.request.tls == nil ? nil : profile.applier.identity(for: dial.target.host, dial.request.role)
    let proceed = { [unowned self] (error: TransportError?) in filesWereRead(for: id, restarts, error) }
    if let request = files.missing(for: identity) {
      read(request, of: profile, proceed)
    } else if mustLook(at: profile, now: monotonicNow()) {
      look(at: profile, until: dial.expiresAt, proceed)
    } else {
      return false
    }
    reading[id] = dial
    deadlines.add(dial.expiresAt, id)
    return true
  }

  private func filesWereRead(for id: UInt64, _ restarts: Int, _ error: TransportError?) {
    // The dial was abandoned meanwhile.
    guard let dial = reading.removeValue(forKey: id) else { return }
    if let error { refuse(dial, error, leaves: true) } else { begin(dial, restarts: restarts) }
  }

  private func read(
    _ request: TLSFileRequest, of profile: StreamProfile, _ proceed: @escaping (TransportError?) -> Void
  ) {
    let known = fileReads.values.first { !$0.isLook && $0.profile === profile && $0.request == request }
    let read = known ?? FileRead(request, of: profile, isLook: false)
    read.waiters.append((.max, proceed))
    if known == nil { submit(read) }
  }

  /// Returns whether the files of a profile must be checked before a connection made under it is used.
  func mustLook(at profile: StreamProfile, now: Int64) -> Bool { now >= profile.trust.files.nextLook }

  /// Checks whether files have changed. Calls `proceed` afterwards, or at `until`.
  func look(at profile: StreamProfile, until: Int64, _ proceed: @escaping (TransportError?) -> Void) {
    let known = fileReads.values.first { $0.isLook && $0.profile === profile }
    let slowAt = monotonicNow().adding(Self.lookLimit)
    let read = known ?? FileRead(profile.trust.files.look, of: profile, isLook: true, slowAt: slowAt)
    let end = min(until, read.slowAt)
    read.waiters.append((end, proceed))
    deadlines.add(end, read.id)
    if known == nil { submit(read) }
  }

  private func submit(_ read: FileRead) {
    let id = read.id, inbox = inbox
    fileReads[id] = read
    // The profile is in use until the waiters have started.
    read.profile.uses += 1
    TLSFileReader.submit(read.request) { _ = inbox.post(StreamCommand.filesRead(id, $0)) }
  }

  func filesRead(_ id: UInt64, _ answer: TLSFileAnswer) {
    guard let read = fileReads.removeValue(forKey: id) else { return }
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
  func expireLook(_ id: UInt64, now: Int64) {
    guard let read = fileReads[id] else { return }
    if now >= read.slowAt { read.profile.trust.files.noteSlowLook() }
    let late = read.waiters.filter { $0.until <= now }
    read.waiters.removeAll { $0.until <= now }
    for waiter in late { waiter.proceed(nil) }
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
