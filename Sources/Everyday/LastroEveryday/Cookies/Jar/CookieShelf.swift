// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroWire

/// The cookies of a jar, indexed by domain.
struct CookieShelf {
  /// The identity of a cookie within its domain (draft-ietf-httpbis-rfc6265bis §5.7). It consists of bytes, because
  /// strings with different bytes may compare equal, and servers distinguish such names.
  struct Key: Hashable {
    let name: [UInt8]
    let isHostOnly: Bool
    let path: [UInt8]

    init(_ cookie: Cookie) {
      (name, isHostOnly, path) = (Array(cookie.name.utf8), cookie.isHostOnly, Array(cookie.path.utf8))
    }
  }

  struct Entry {
    var cookie: Cookie
    /// The id of the entry, in the order of creation.
    let order: Int
    /// The number of the shelf's use in which this cookie was last used.
    var use: Int
    /// The registrable domain, or the host if it has none.
    let site: String
  }

  /// The cookies of a registrable domain, or of a host that has none.
  private struct Site {
    var domains: [String: [Key: Int]] = [:]
    var count = 0
    var byUse = Ranking<Int>()
    var insecureByUse = Ranking<Int>()
    var byExpiry = Ranking<Date>()
  }

  /// All entries by id.
  private var known: [Int: Entry] = [:]
  private var sites: [String: Site] = [:]
  private var byUse = Ranking<Int>()
  private var byExpiry = Ranking<Date>()
  private var orders = 0
  private var uses = 0
  private let rules: CookieRules
  private let suffixes: PublicSuffixList

  init(_ rules: CookieRules, _ suffixes: PublicSuffixList) { (self.rules, self.suffixes) = (rules, suffixes) }

  /// The number of cookies.
  var count: Int { known.count }

  /// All entries, oldest first.
  var entries: [Entry] { known.values.sorted { $0.order < $1.order } }

  /// The number of comparisons made to maintain the order of eviction.
  var steps: Int {
    sites.values.reduce(byUse.steps + byExpiry.steps) {
      $0 + $1.byUse.steps + $1.insecureByUse.steps + $1.byExpiry.steps
    }
  }

  /// The number of pairs in the orders of eviction, including outdated ones.
  var pairs: Int {
    sites.values.reduce(byUse.count + byExpiry.count) {
      $0 + $1.byUse.count + $1.insecureByUse.count + $1.byExpiry.count
    }
  }

  private func site(of host: HostName) -> String { suffixes.registrableDomain(of: host)?.text ?? host.text }

  /// Returns the domains whose cookies may match a host: the host itself, and its parents that are not public suffixes.
  private func domains(above host: HostName, in site: String) -> [String] {
    var domains = [host.text]
    var next = host.parent
    while let domain = next, domain.text.utf8.count >= site.utf8.count {
      domains.append(domain.text)
      next = domain.parent
    }
    return domains
  }

  // MARK: Sending

  /// Returns the cookies for a request, in the order in which they are sent (§5.8.3).
  func matching(_ source: CookieSource, now: Date) -> [Entry] {
    let site = site(of: source.host)
    guard let shelf = sites[site] else { return [] }
    return domains(above: source.host, in: site).flatMap { domain in
      (shelf.domains[domain] ?? [:]).values.compactMap { known[$0] }.filter { $0.cookie.isFor(source, now: now) }
    }.sorted { first, second in
      let lengths = (first.cookie.path.utf8.count, second.cookie.path.utf8.count)
      return lengths.0 == lengths.1 ? first.order < second.order : lengths.0 > lengths.1
    }
  }

  mutating func recordUse(of entries: [Entry], now: Date) {
    uses += 1
    for entry in entries {
      guard var used = known[entry.order] else { continue }
      used.use = uses
      used.cookie.lastUsed = now
      known[entry.order] = used
      rankUse(of: used)
    }
  }

  // MARK: Storing

  /// Whether a cookie received over plain `http` would hide a secure cookie that has not expired.
  func hasSecure(hiddenBy cookie: Cookie, now: Date) -> Bool {
    guard let domain = try? HostName(cookie.domain), let site = sites[site(of: domain)] else { return false }
    return site.domains.contains { name, entries in
      guard let other = try? HostName(name),
        other == domain || other.isSubdomain(of: domain) || domain.isSubdomain(of: other)
      else { return false }
      return entries.values.lazy.compactMap { known[$0]?.cookie }.contains { known in
        known.isSecure && !known.hasExpired(now) && known.name.utf8.elementsEqual(cookie.name.utf8)
          && CookiePath.covers(known.path, cookie.path)
      }
    }
  }

  func known(_ cookie: Cookie) -> Cookie? {
    guard let domain = try? HostName(cookie.domain) else { return nil }
    return sites[site(of: domain)]?.domains[cookie.domain]?[Key(cookie)].flatMap { known[$0] }?.cookie
  }

  /// Stores a cookie, replacing the one with the same identity and keeping its creation time. Evicts cookies if a limit
  /// is exceeded.
  mutating func put(_ cookie: Cookie, now: Date) {
    guard let host = try? HostName(cookie.domain) else { return }
    let site = site(of: host)
    uses += 1
    orders += 1
    let key = Key(cookie)
    let old = sites[site]?.domains[cookie.domain]?[key].flatMap { known[$0] }
    var cookie = cookie
    cookie.lastUsed = cookie.lastUsed ?? now
    cookie.created = old?.cookie.created ?? cookie.created ?? now
    let entry = Entry(cookie: cookie, order: old?.order ?? orders, use: uses, site: site)
    known[entry.order] = entry
    if old == nil {
      sites[site, default: Site()].domains[cookie.domain, default: [:]][key] = entry.order
      sites[site]?.count += 1
    }
    rank(entry)
    evict(in: site, now: now)
  }

  mutating func remove(_ cookie: Cookie) {
    guard let host = try? HostName(cookie.domain),
      let order = sites[site(of: host)]?.domains[cookie.domain]?[Key(cookie)]
    else { return }
    remove(order)
  }

  /// Removes an entry. Its pairs in the orders of eviction become outdated.
  private mutating func remove(_ order: Int) {
    guard let entry = known.removeValue(forKey: order) else { return }
    let domain = entry.cookie.domain
    sites[entry.site]?.domains[domain]?[Key(entry.cookie)] = nil
    if sites[entry.site]?.domains[domain]?.isEmpty ?? false { sites[entry.site]?.domains[domain] = nil }
    sites[entry.site]?.count -= 1
    if sites[entry.site]?.count == 0 { sites[entry.site] = nil }
  }

  // MARK: Room

  /// Enters the use and the expiry of an entry into the orders of eviction.
  private mutating func rank(_ entry: Entry) {
    rankUse(of: entry)
    guard let expiry = entry.cookie.expiry else { return }
    let limit = sites[entry.site]?.count ?? 0
    byExpiry.push(expiry, entry.order, limit: count) { Self.expires($0, in: known) }
    sites[entry.site]?.byExpiry.push(expiry, entry.order, limit: limit) { Self.expires($0, in: known) }
  }

  /// Enters the use of an entry into the orders of eviction. Sending a cookie does not change its expiry.
  private mutating func rankUse(of entry: Entry) {
    let limit = sites[entry.site]?.count ?? 0
    let (use, order) = (entry.use, entry.order)
    byUse.push(use, order, limit: count) { Self.isUsed($0, in: known) }
    sites[entry.site]?.byUse.push(use, order, limit: limit) { Self.isUsed($0, in: known) }
    if !entry.cookie.isSecure {
      sites[entry.site]?.insecureByUse.push(use, order, limit: limit) { Self.isInsecure($0, in: known) }
    }
  }

  private static func isUsed(_ pair: Ranking<Int>.Pair, in known: [Int: Entry]) -> Bool {
    known[pair.id]?.use == pair.rank
  }

  private static func isInsecure(_ pair: Ranking<Int>.Pair, in known: [Int: Entry]) -> Bool {
    isUsed(pair, in: known) && known[pair.id]?.cookie.isSecure == false
  }

  private static func expires(_ pair: Ranking<Date>.Pair, in known: [Int: Entry]) -> Bool {
    known[pair.id]?.cookie.expiry == pair.rank
  }

  /// Removes the expired cookies of a domain that is over its limit. If there are none, removes its least recently used
  /// cookie that is not secure, or else its least recently used cookie. Then does the same for the whole shelf, but
  /// without regard to secure cookies (§5.7, end).
  private mutating func evict(in site: String, now: Date) {
    if let count = sites[site]?.count, count > rules.maximumCookiesPerDomain, !removeExpired(in: site, now) {
      let oldest =
        sites[site]?.insecureByUse.lowest { Self.isInsecure($0, in: known) }
        ?? sites[site]?.byUse.lowest { Self.isUsed($0, in: known) }
      if let oldest { remove(oldest.id) }
    }
    guard count > rules.maximumCookies, !removeExpired(now) else { return }
    if let oldest = byUse.lowest(isCurrent: { Self.isUsed($0, in: known) }) { remove(oldest.id) }
  }

  /// - Returns: whether any cookie had expired.
  private mutating func removeExpired(in site: String, _ now: Date) -> Bool {
    let before = count
    while let next = sites[site]?.byExpiry.lowest(isCurrent: { Self.expires($0, in: known) }), next.rank <= now {
      remove(next.id)
    }
    return count < before
  }

  /// - Returns: whether any cookie had expired.
  private mutating func removeExpired(_ now: Date) -> Bool {
    let before = count
    while let next = byExpiry.lowest(isCurrent: { Self.expires($0, in: known) }), next.rank <= now {
      remove(next.id)
    }
    return count < before
  }
}

extension Cookie {
  func hasExpired(_ now: Date) -> Bool { expiry.map { $0 <= now } ?? false }

  /// Whether a request to the source sends the cookie. The caller has matched the domain with the host or a parent of
  /// it.
  fileprivate func isFor(_ source: CookieSource, now: Date) -> Bool {
    (!isHostOnly || domain == source.host.text) && (!isSecure || source.isSecure) && !hasExpired(now)
      && CookiePath.covers(path, source.path)
  }
}
