// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The cookies that a jar has, found by domain and not by a look at each.
struct CookieShelf {
  /// What makes two cookies of one domain the same (draft-ietf-httpbis-rfc6265bis §5.7), in bytes: strings are equal in
  /// more cases, and a server tells such names apart.
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
    /// Tells cookies apart that were created in the same moment.
    let order: Int
    /// Which use of the shelf was the last of this cookie.
    var use: Int
  }

  /// A registrable domain, or a host that has none: what the limit of cookies is for.
  private struct Site {
    var domains: [String: [Key: Entry]] = [:]
    var count = 0
  }

  private var sites: [String: Site] = [:]
  private(set) var count = 0
  private var orders = 0
  private var uses = 0
  private let rules: CookieRules
  private let suffixes: PublicSuffixList

  init(_ rules: CookieRules, _ suffixes: PublicSuffixList) { (self.rules, self.suffixes) = (rules, suffixes) }

  /// All of them, the oldest first.
  var entries: [Entry] { unordered.sorted { $0.order < $1.order } }

  private var unordered: [Entry] { sites.values.flatMap { site in site.domains.values.flatMap(\.values) } }

  private func site(of host: HostName) -> String { suffixes.registrableDomain(of: host)?.text ?? host.text }

  /// The domains that may have cookies for a host: its own, and those above it that are no public suffix.
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

  /// The cookies for a request, in the order in which they are sent (§5.8.3).
  func matching(_ source: CookieSource, now: Date) -> [Entry] {
    let site = site(of: source.host)
    guard let shelf = sites[site] else { return [] }
    return domains(above: source.host, in: site).flatMap { domain in
      (shelf.domains[domain] ?? [:]).values.filter { $0.cookie.isFor(source, now: now) }
    }.sorted { first, second in
      let lengths = (first.cookie.path.utf8.count, second.cookie.path.utf8.count)
      return lengths.0 == lengths.1 ? first.order < second.order : lengths.0 > lengths.1
    }
  }

  mutating func noteUse(of entries: [Entry], now: Date) {
    uses += 1
    let use = uses
    for entry in entries {
      change(entry.cookie) { known in
        known?.use = use
        known?.cookie.lastUsed = now
      }
    }
  }

  // MARK: Storing

  /// Whether a cookie from a server asked in the clear would hide a secure one that has not expired.
  func hasSecure(hiddenBy cookie: Cookie, now: Date) -> Bool {
    guard let domain = try? HostName(cookie.domain), let site = sites[site(of: domain)] else { return false }
    return site.domains.contains { name, entries in
      guard let other = try? HostName(name),
        other == domain || other.isSubdomain(of: domain) || domain.isSubdomain(of: other)
      else { return false }
      return entries.values.contains { known in
        known.cookie.isSecure && !known.cookie.hasExpired(now) && known.cookie.name.utf8.elementsEqual(cookie.name.utf8)
          && CookiePath.covers(known.cookie.path, cookie.path)
      }
    }
  }

  func known(_ cookie: Cookie) -> Cookie? {
    guard let domain = try? HostName(cookie.domain) else { return nil }
    return sites[site(of: domain)]?.domains[cookie.domain]?[Key(cookie)]?.cookie
  }

  /// Puts a cookie in, in place of the same one, whose creation it takes over; makes room where there is none.
  mutating func put(_ cookie: Cookie, now: Date) {
    uses += 1
    orders += 1
    let (use, newest) = (uses, orders)
    var cookie = cookie
    cookie.lastUsed = cookie.lastUsed ?? now
    change(cookie) { known in
      cookie.created = known?.cookie.created ?? cookie.created ?? now
      known = Entry(cookie: cookie, order: known?.order ?? newest, use: use)
    }
    evict(in: cookie, now: now)
  }

  mutating func remove(_ cookie: Cookie) { change(cookie) { $0 = nil } }

  /// One place that counts.
  private mutating func change(_ cookie: Cookie, _ body: (inout Entry?) -> Void) {
    guard let host = try? HostName(cookie.domain) else { return }
    let name = site(of: host)
    var site = sites.removeValue(forKey: name) ?? Site()
    let key = Key(cookie)
    var entries = site.domains.removeValue(forKey: cookie.domain) ?? [:]
    let before = entries.count
    body(&entries[key])
    site.count += entries.count - before
    count += entries.count - before
    if !entries.isEmpty { site.domains[cookie.domain] = entries }
    if site.count > 0 { sites[name] = site }
  }

  // MARK: Room

  /// What has expired goes first, then of a crowded domain what is not secure, then the rest; each by its last use
  /// (§5.7, end).
  private mutating func evict(in cookie: Cookie, now: Date) {
    if let host = try? HostName(cookie.domain), let site = sites[site(of: host)],
      site.count > rules.maximumCookiesPerDomain
    {
      let entries = site.domains.values.flatMap(\.values)
      if !removeExpired(entries, now) {
        let insecure = entries.filter { !$0.cookie.isSecure }
        removeOldest(of: insecure.isEmpty ? entries : insecure)
      }
    }
    guard count > rules.maximumCookies else { return }
    let entries = unordered
    if !removeExpired(entries, now) { removeOldest(of: entries) }
  }

  private mutating func removeExpired(_ entries: [Entry], _ now: Date) -> Bool {
    let expired = entries.filter { $0.cookie.hasExpired(now) }
    for entry in expired { remove(entry.cookie) }
    return !expired.isEmpty
  }

  private mutating func removeOldest(of entries: [Entry]) {
    if let oldest = entries.min(by: { ($0.use, $0.order) < ($1.use, $1.order) }) { remove(oldest.cookie) }
  }
}

extension Cookie {
  func hasExpired(_ now: Date) -> Bool { expiry.map { $0 <= now } ?? false }

  /// Whether a request to that place gets it. Its domain was found by the host, or by one below it.
  fileprivate func isFor(_ source: CookieSource, now: Date) -> Bool {
    (!isHostOnly || domain == source.host.text) && (!isSecure || source.isSecure) && !hasExpired(now)
      && CookiePath.covers(path, source.path)
  }
}
