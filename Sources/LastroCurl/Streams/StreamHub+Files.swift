// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

// No file is opened on the loop's thread: dials wait until the files of their TLS options were read elsewhere, and
// requests that would use a connection wait, once a second at most, until files were looked at again.
extension StreamHub {
  /// A read of files that is under way, and what waits for it.
  final class FileRead {
    let id = StreamID.next()
    let profile: StreamProfile
    let request: TLSFileRequest
    /// Whether the files were read before, and only changes matter.
    let isLook: Bool
    /// The time at which requests stop waiting for a look: a file that cannot be looked at is not newer.
    let slowAt: Int64
    var waiters: [(until: Int64, proceed: (TransportError?) -> Void)] = []

    init(_ request: TLSFileRequest, of profile: StreamProfile, isLook: Bool, slowAt: Int64 = .max) {
      self.request = request
      self.profile = profile
      self.isLook = isLook
      self.slowAt = slowAt
    }
  }

  /// The longest that requests wait for a look.
  private static let lookLimit = Duration.seconds(5)

  /// Has a dial wait for files, and begins it again afterwards. False: nothing is to be read.
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
    // Given up meanwhile.
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

  /// Whether files of a profile are to be looked at before a connection made under it is used.
  func mustLook(at profile: StreamProfile, now: Int64) -> Bool { now >= profile.trust.files.nextLook }

  /// Looks whether files have changed, and calls `proceed` then, or at `until`.
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
    // It is in use until those who wait have begun.
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

  /// Begins the dials and jobs whose time for a look is over.
  func expireLook(_ id: UInt64, now: Int64) {
    guard let read = fileReads[id] else { return }
    if now >= read.slowAt { read.profile.trust.files.noteSlowLook() }
    let late = read.waiters.filter { $0.until <= now }
    read.waiters.removeAll { $0.until <= now }
    for waiter in late { waiter.proceed(nil) }
  }
}

extension OptionApplier {
  /// Whether TLS is spoken on the way: with the host, or with a proxy.
  func speaksTLS(on dial: StreamDial) -> Bool {
    if dial.request.tls != nil { return true }
    let proxy = proxy(isTLS: false, authority: "\(dial.host.text.bracketedHost):\(dial.request.port)")
    return proxy.lowercased().hasPrefix("https:")
  }
}
