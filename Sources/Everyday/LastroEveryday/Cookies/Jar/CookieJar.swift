// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import Lastro
internal import LastroSupport
internal import LastroWire

/// The cookies of one session, by the rules of draft-ietf-httpbis-rfc6265bis.
///
/// ```swift
/// var configuration = StackConfiguration()
/// configuration.cookies = CookieJar()
/// let stack = try CurlNetworkStack(configuration: configuration)
/// ```
///
/// A stack has no jar unless one is configured. Users of one jar share its sessions, so a server that acts for several
/// users needs a jar for each of them. A jar may be shared by several stacks, and used from any thread.
///
/// The rules are those of browsers, as far as a client without pages can follow them. Public suffixes come from the
/// machine's list (Debian's package `publicsuffix`); without the list, only single labels such as `uk` are public
/// suffixes. A jar keeps at most 180 cookies per registrable domain, such as `example.co.uk` with all hosts below it,
/// and 3000 in all; a `Cookie` field has at most 16 KiB, and cookies that do not fit are not sent.
public final class CookieJar: Sendable {
  let rules: CookieRules
  let time: TimeSource
  private let admission: CookieAdmission
  private let shelf: Lock<CookieShelf>
  private let keeper: CookieKeeper?

  /// Creates an empty jar.
  ///
  /// - Parameters:
  ///   - acceptsNameless: whether cookies without a name are accepted, such as `Set-Cookie: x`. Default false: servers
  ///     rarely intend them, and parsers of `Cookie` misread them.
  ///   - treatsLoopbackAsSecure: whether `http` to `localhost`, names below it, `127.0.0.0/8` and `::1` counts as
  ///     secure. Default false. Set it to test local servers: such traffic does not leave the machine.
  ///   - time: the clock by which cookies expire. Default: the system's.
  public convenience init(
    acceptsNameless: Bool = false, treatsLoopbackAsSecure: Bool = false, time: TimeSource = .continuous
  ) {
    let rules = CookieRules(acceptsNameless: acceptsNameless, treatsLoopbackAsSecure: treatsLoopbackAsSecure)
    self.init(rules: rules, store: nil, time: time, suffixes: .system)
  }

  /// Creates a jar with the cookies of a file, and saves changes to it.
  ///
  /// ```swift
  /// let jar = try CookieJar(path: "/var/lib/shop/cookies.txt")
  /// ```
  ///
  /// The file is in the format of Netscape's `cookies.txt`, which curl and wget share. A change is written within a
  /// second by a background task, at most once a second; ``save()`` writes immediately. Expired cookies, and those that
  /// the rules no longer accept, are not loaded.
  ///
  /// A save writes a new file, `PATH.new`, and renames it atomically. Only the owner can read either file (0600),
  /// because they contain sessions. A new file left behind by a killed process is removed by the next load or save.
  /// The `SameSite` attribute is lost, and so is a cookie whose value contains a tab.
  ///
  /// - Parameters:
  ///   - path: the path of the file, which need not exist yet. A symbolic link there is replaced, not followed.
  ///   - acceptsNameless: whether cookies without a name are accepted. Default false.
  ///   - treatsLoopbackAsSecure: whether `http` to this machine counts as secure. Default false.
  ///   - time: the clock by which cookies expire. Default: the system's.
  /// - Throws: `ConfigurationError` if the file cannot be read, exceeds 16 MiB, is not UTF-8, or has a line that is not
  ///   in the format, because an empty jar would overwrite it.
  public convenience init(
    path: String, acceptsNameless: Bool = false, treatsLoopbackAsSecure: Bool = false, time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    let rules = CookieRules(acceptsNameless: acceptsNameless, treatsLoopbackAsSecure: treatsLoopbackAsSecure)
    try self.init(rules: rules, loading: CookieFile(path: path), time: time, suffixes: .system)
  }

  convenience init(
    rules: CookieRules, loading store: any CookieStore, time: TimeSource, suffixes: PublicSuffixList
  ) throws(ConfigurationError) {
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

  deinit { keeper?.saveIfBehind(cookies) }

  private var now: Date { Date(timeIntervalSince1970: time.sinceEpoch().inSeconds) }

  // MARK: Looking

  /// All cookies that have not expired, oldest first.
  public var cookies: [Cookie] {
    let now = now
    return shelf.withLock { shelf in shelf.entries.map(\.cookie) }.filter { !$0.hasExpired(now) }
  }

  /// Returns the cookies that a request to a URL would send, in order.
  ///
  /// - Throws: `TransportError`, stage `request`, for text that is not an absolute `http` or `https` URL; replace `ws`
  ///   and `wss` by these.
  public func cookies(for url: String) throws(TransportError) -> [Cookie] {
    let source = try CookieSource(url: url, rules)
    let now = now
    return shelf.withLock { $0.matching(source, now: now) }.map(\.cookie)
  }

  /// Returns the cookies for a request.
  ///
  /// - Parameter isUse: whether the cookies are sent, which counts as a use for the order of eviction.
  func selection(for source: CookieSource, isUse: Bool) -> CookieFieldText {
    let now = now
    return shelf.withLock { shelf in
      let entries = shelf.matching(source, now: now)
      let selection = CookieFieldText(of: entries.map(\.cookie), maximumBytes: rules.maximumFieldBytes)
      if isUse { shelf.recordUse(of: Array(entries.prefix(selection.cookies.count)), now: now) }
      return selection
    }
  }

  // MARK: Taking

  /// Inserts a cookie of the application, replacing the cookie with the same name, domain, path and `isHostOnly`.
  ///
  /// - Throws: `ConfigurationError` for a cookie that no server could set: with a `;`, for a public suffix, or with a
  ///   name prefix whose requirements it does not meet.
  public func insert(_ cookie: Cookie) throws(ConfigurationError) {
    do throws(CookieRefusal) {
      try admit(cookie, now)
    } catch {
      throw ConfigurationError(error, of: cookie)
    }
    changed()
  }

  private func admit(_ cookie: Cookie, _ now: Date) throws(CookieRefusal) {
    let cookie = try admission.admitted(cookie, now: now)
    shelf.withLock { shelf in
      if cookie.hasExpired(now) { shelf.remove(cookie) } else { shelf.put(cookie, now: now) }
    }
  }

  /// Stores the cookies that a server set.
  ///
  /// - Parameters:
  ///   - lines: the values of the response's `Set-Cookie` fields, one each.
  ///   - url: the URL of the request.
  /// - Returns: a text for the result of each line, such as `session: stored`, or the name and the reason of a refusal,
  ///   in order; without values of cookies.
  /// - Throws: `TransportError`, stage `request`, for text that is not an absolute `http` or `https` URL.
  @discardableResult
  public func receive(_ lines: [String], from url: String) throws(TransportError) -> [String] {
    receive(lines.map { Array($0.utf8) }, from: try CookieSource(url: url, rules)).map(\.description)
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

  /// Removes the cookies for which the closure returns true. The closure is called on this thread, without a lock held.
  public func remove(where isRemoved: (Cookie) -> Bool) {
    let removed = shelf.withLock { $0.entries }.map(\.cookie).filter(isRemoved)
    guard !removed.isEmpty else { return }
    shelf.withLock { shelf in for cookie in removed { shelf.remove(cookie) } }
    changed()
  }

  // MARK: Files

  /// Returns all cookies in the format of Netscape's `cookies.txt`, which curl and wget read and write.
  ///
  /// The format cannot express the `SameSite` attribute, or a value with a tab: a comment line names each cookie left
  /// out for that. The text contains the values of the cookies.
  public func netscapeText() -> String { NetscapeCookies.text(of: cookies) }

  /// Inserts the cookies of a text in the format of Netscape's `cookies.txt`, if ``insert(_:)`` would accept them;
  /// expired cookies are left out.
  ///
  /// - Returns: a text for each line that sets no cookie, such as `line 3 has 4 fields, and not 7`, in the order of the
  ///   lines; without values of cookies.
  @discardableResult
  public func importNetscape(_ text: String) -> [String] {
    let now = now
    var (entries, problems) = NetscapeCookies.entries(of: text)
    for entry in entries {
      do throws(CookieRefusal) {
        try admit(entry.cookie, now)
      } catch {
        problems.append(CookieImportProblem(line: entry.line, reason: "sets a cookie that \(error.reason)"))
      }
    }
    if !entries.isEmpty { changed() }
    return problems.sorted { $0.line < $1.line }.map(\.description)
  }

  /// Writes the cookies to the file immediately; does nothing if the jar has no file.
  ///
  /// - Throws: `ConfigurationError` if they exceed the 16 MiB that can be read back, the path is a device or a pipe,
  ///   such as `/dev/null`, or the new file cannot be written or renamed. The old file then stays unchanged.
  public func save() async throws(ConfigurationError) { try await keeper?.save { self.cookies } }

  /// The error of the last automatic save; `nil` if it succeeded. The next change tries again.
  public var saveFailure: ConfigurationError? { keeper?.failure }

  private func changed() {
    keeper?.changed { [weak self] () -> (@Sendable () -> [Cookie])? in
      guard let self else { return nil }
      return { self.cookies }
    }
  }
}

extension CookieJar: CustomStringConvertible {
  /// The number of cookies; never their contents.
  public var description: String {
    let count = shelf.withLock { $0.count }
    return "a jar with \(count) \(count == 1 ? "cookie" : "cookies")"
  }
}
