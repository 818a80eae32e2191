// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport
internal import LastroWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The cookies of one session, by the rules of draft-ietf-httpbis-rfc6265bis.
///
/// ```swift
/// var configuration = StackConfiguration()
/// configuration.cookies = CookieJar()
/// let stack = try CurlNetworkStack(configuration: configuration)
/// ```
///
/// A stack has none unless it is given one: who shares a jar shares its sessions, so that a server which acts for
/// several users has a jar for each. A jar may be given to several stacks, and be used from any thread.
///
/// Rules are those of browsers, as far as a client without pages can follow them. Public suffixes are those of the
/// machine's list (Debian's package `publicsuffix`); without it only single labels are, such as `uk`.
public final class CookieJar: Sendable {
  /// What it takes.
  public let rules: CookieRules
  let time: TimeSource
  private let admission: CookieAdmission
  private let shelf: Lock<CookieShelf>
  private let keeper: CookieKeeper?

  /// Makes an empty jar.
  ///
  /// - Parameters:
  ///   - rules: what it takes.
  ///   - time: tells the date, by which cookies expire. Default: the system's.
  public convenience init(rules: CookieRules = .standard, time: TimeSource = .continuous) {
    self.init(rules: rules, store: nil, time: time, suffixes: .system)
  }

  /// Makes a jar with the cookies of a store, and keeps them there.
  ///
  /// Each change is written within a second, and no more often than once a second, by a task of its own; ``save()``
  /// writes at once. What expired, and what the rules do not let in any more, is left out.
  ///
  /// - Throws: ``CookieError`` where the store cannot be read: an empty jar would be written over it.
  public convenience init(
    rules: CookieRules = .standard, store: any CookieStore, time: TimeSource = .continuous
  ) throws(CookieError) {
    try self.init(rules: rules, loading: store, time: time, suffixes: .system)
  }

  convenience init(
    rules: CookieRules, loading store: any CookieStore, time: TimeSource, suffixes: PublicSuffixList
  ) throws(CookieError) {
    let cookies = try store.load()
    self.init(rules: rules, store: store, time: time, suffixes: suffixes)
    let now = now
    for cookie in cookies { _ = try? admit(cookie, now) }
  }

  init(rules: CookieRules, store: (any CookieStore)?, time: TimeSource, suffixes: PublicSuffixList) {
    self.rules = rules
    self.time = time
    admission = CookieAdmission(rules: rules, suffixes: suffixes)
    shelf = Lock(CookieShelf(rules, suffixes))
    keeper = store.map { CookieKeeper($0, time: time) }
  }

  deinit { keeper?.finish(with: cookies) }

  private var now: Date { Date(timeIntervalSince1970: time.sinceEpoch().inSeconds) }

  // MARK: Looking

  /// All cookies that have not expired, the oldest first.
  public var cookies: [Cookie] {
    let now = now
    return shelf.withLock { shelf in shelf.entries.map(\.cookie) }.filter { !$0.hasExpired(now) }
  }

  /// The cookies that a request to a URL would get, in their order.
  ///
  /// - Throws: `TransportError`, stage `request`, for what is not an absolute `http` or `https` URL; for `ws` and `wss`
  ///   write those instead.
  public func cookies(for url: String) throws(TransportError) -> [Cookie] {
    let source = try CookieSource(url: url, rules)
    let now = now
    return shelf.withLock { $0.matching(source, now: now) }.map(\.cookie)
  }

  /// The cookies for a request.
  ///
  /// - Parameter isUse: whether they are sent, which counts where cookies have to go for others.
  func selection(for source: CookieSource, isUse: Bool) -> CookieSelection {
    let now = now
    return shelf.withLock { shelf in
      let entries = shelf.matching(source, now: now)
      let selection = CookieSelection(of: entries.map(\.cookie), maximumBytes: rules.maximumFieldBytes)
      if isUse { shelf.noteUse(of: Array(entries.prefix(selection.cookies.count)), now: now) }
      return selection
    }
  }

  // MARK: Taking

  /// Takes a cookie of the application's own, in place of the same one.
  ///
  /// - Throws: ``CookieError`` for one that no server could set: with a separator, for a public suffix, with a prefix
  ///   whose promise it does not keep.
  public func insert(_ cookie: Cookie) throws(CookieError) {
    do throws(CookieRefusal) {
      try admit(cookie, now)
    } catch {
      throw CookieError(error, of: cookie)
    }
    changed()
  }

  private func admit(_ cookie: Cookie, _ now: Date) throws(CookieRefusal) {
    let cookie = try admission.admitted(cookie, now: now)
    shelf.withLock { shelf in
      if cookie.hasExpired(now) { shelf.remove(cookie) } else { shelf.put(cookie, now: now) }
    }
  }

  /// Takes what a server set.
  ///
  /// - Parameters:
  ///   - lines: the values of its `Set-Cookie` fields, one each.
  ///   - url: what was asked.
  /// - Returns: what became of each, in their order.
  /// - Throws: `TransportError`, stage `request`, for what is not an absolute `http` or `https` URL.
  @discardableResult
  public func receive(_ lines: [String], from url: String) throws(TransportError) -> [CookieVerdict] {
    receive(lines.map { Array($0.utf8) }, from: try CookieSource(url: url, rules))
  }

  func receive(_ lines: [[UInt8]], from source: CookieSource) -> [CookieVerdict] {
    let now = now
    let verdicts = lines.map { line in
      do throws(SetCookieLine.Problem) {
        return receive(try SetCookieLine(line), from: source, now)
      } catch {
        return CookieVerdict("", .refused(CookieRefusal(error)))
      }
    }
    if verdicts.contains(where: { $0.changesRequests || $0.outcome == .renewed }) { changed() }
    return verdicts
  }

  private func receive(_ line: SetCookieLine, from source: CookieSource, _ now: Date) -> CookieVerdict {
    let cookie: Cookie
    do throws(CookieRefusal) {
      cookie = try admission.cookie(line, from: source, now: now)
    } catch {
      return CookieVerdict(line.name, .refused(error))
    }
    return shelf.withLock { shelf in
      if !source.isSecure, shelf.hasSecure(hiddenBy: cookie, now: now) {
        return CookieVerdict(line.name, .refused(.overSecure))
      }
      let known = shelf.known(cookie).flatMap { $0.hasExpired(now) ? nil : $0 }
      if cookie.hasExpired(now) {
        shelf.remove(cookie)
        return CookieVerdict(line.name, known == nil ? .expired : .removed)
      }
      shelf.put(cookie, now: now)
      return CookieVerdict(line.name, known?.value == cookie.value ? .renewed : .stored)
    }
  }

  // MARK: Removing

  /// Removes the cookies that the closure picks. It is called on this thread, without a lock.
  public func remove(where isRemoved: (Cookie) -> Bool) {
    let removed = shelf.withLock { $0.entries }.map(\.cookie).filter(isRemoved)
    guard !removed.isEmpty else { return }
    shelf.withLock { shelf in for cookie in removed { shelf.remove(cookie) } }
    changed()
  }

  /// Removes the cookies that last as long as the session, which have no expiry.
  public func endSession() { remove { $0.expiry == nil } }

  // MARK: Files

  /// All cookies in the format of Netscape's `cookies.txt`, which curl and wget read and write.
  ///
  /// It has no place for ``Cookie/sameSite``, and none for a value with a tab: a comment line tells which cookies that
  /// left out. The text holds their values.
  public func netscapeText() -> String { NetscapeCookies.text(of: cookies) }

  /// Takes the cookies of a text in the format of Netscape's `cookies.txt`, as far as ``insert(_:)`` would; those that
  /// have expired are left out.
  ///
  /// - Returns: the lines that set nothing, and why.
  @discardableResult
  public func importNetscape(_ text: String) -> [CookieImportProblem] {
    let now = now
    var (entries, problems) = NetscapeCookies.entries(of: text)
    for entry in entries {
      do throws(CookieRefusal) {
        try admit(entry.cookie, now)
      } catch {
        problems.append(CookieImportProblem(line: entry.line, refusal: error))
      }
    }
    if !entries.isEmpty { changed() }
    return problems.sorted { $0.line < $1.line }
  }

  /// Writes the cookies to the store at once; does nothing without one.
  ///
  /// - Throws: ``CookieError`` where they cannot be written.
  public func save() async throws(CookieError) { try await keeper?.save { self.cookies } }

  /// Why the last save by itself failed; `nil` where it did not. The next change tries again.
  public var saveFailure: CookieError? { keeper?.failure }

  private func changed() {
    keeper?.changed { [weak self] () -> (@Sendable () -> [Cookie])? in
      guard let self else { return nil }
      return { self.cookies }
    }
  }
}

extension CookieJar: CustomStringConvertible {
  /// How many cookies it has; never one of them.
  public var description: String {
    let count = shelf.withLock { $0.count }
    return "a jar with \(count) \(count == 1 ? "cookie" : "cookies")"
  }
}
