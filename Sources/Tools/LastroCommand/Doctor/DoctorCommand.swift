// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
import LastroHTTP

struct DoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Reports which features this machine's libcurl has, which are missing, and what that means.",
    discussion: "Exit status 0 when everything needed is there, 1 otherwise.")

  @Option(
    name: [.customShort("E"), .customLong("cert")],
    help: "PEM file of a client certificate whose expiry is reported. May be given several times.")
  var certificates: [String] = []

  func run() throws {
    let capabilities = CurlCapabilities.current
    var checkup = Checkup()
    checkup.versions(capabilities)
    checkup.features(capabilities)
    checkup.certificates(capabilities)
    checkup.publicSuffixes(.system)
    checkup.proxies()
    checkup.limits()
    checkup.clock()
    checkup.developmentFiles()
    for path in certificates { checkup.clientCertificate(path) }
    for line in checkup.lines { try Console.out(line) }
    if checkup.hasFailure { throw ExitCode(1) }
  }
}

/// The findings of a check, one line each.
struct Checkup {
  private(set) var lines: [String] = []
  private(set) var hasFailure = false

  mutating func versions(_ capabilities: CurlCapabilities) {
    note("ok", "lastro \(PackageVersion.text), libcurl \(capabilities.curlVersion), \(capabilities.openSSLVersion)")
    if capabilities.tlsBackend.hasPrefix("OpenSSL") || capabilities.tlsBackend.contains("OpenSSL") {
      note("ok", "libcurl's TLS is \(capabilities.tlsBackend)")
    } else {
      fail(
        "libcurl's TLS is \(capabilities.tlsBackend): https cannot be used; install the OpenSSL flavour (Debian: libcurl4)"
      )
    }
  }

  mutating func features(_ capabilities: CurlCapabilities) {
    let features: [(Bool, String, String)] = [
      (capabilities.http2, "HTTP/2", "requests use HTTP/1.1 only"),
      (capabilities.internationalNames, "international names", "names must be given as xn-- labels"),
      (capabilities.unixSockets, "Unix sockets", "--unix-socket fails"),
      (capabilities.ipv6, "IPv6", "IPv6 hosts cannot be reached"),
      (capabilities.httpsProxy, "HTTPS proxies", "https:// proxies fail"),
    ]
    for (isPresent, name, consequence) in features {
      note(isPresent ? "ok" : "--", isPresent ? name : "no \(name): \(consequence)")
    }
    note("ok", "gzip and deflate")
    if capabilities.http2, (Int(capabilities.curlVersion.prefix { $0 != "." }) ?? 0) < 8 {
      note("--", "HTTP/2 in the clear takes a connection for each request: libcurl is older than 8.0.0")
    }
    if !capabilities.asynchronousDNS { fail("no asynchronous resolver: a slow DNS server stalls every transfer") }
    note(
      capabilities.http3 ? "ok" : "--",
      capabilities.http3 ? "HTTP/3 (not used by Lastro)" : "no HTTP/3 (not used by Lastro)")
  }

  mutating func certificates(_ capabilities: CurlCapabilities) {
    guard let file = capabilities.caFile else {
      return fail("no file of trusted roots found: https fails unless roots are given; install ca-certificates")
    }
    let text = (try? Data(contentsOf: URL(filePath: file))).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let count = text.split(separator: "-----BEGIN CERTIFICATE-----", omittingEmptySubsequences: false).count - 1
    if count > 0 {
      note("ok", "\(count) trusted roots in \(file)")
    } else {
      fail("\(file) holds no certificate: https fails; reinstall ca-certificates")
    }
  }

  mutating func publicSuffixes(_ list: PublicSuffixList) {
    if list.isEmpty {
      note("--", "no \(PublicSuffixList.systemPath): co.uk passes for a domain of its own; install publicsuffix")
    } else {
      note("ok", "\(list.ruleCount) public suffix rules in \(PublicSuffixList.systemPath)")
    }
  }

  mutating func proxies() {
    let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"]
    let set = names.compactMap { name in getenv(name).map { (name, String(cString: $0)) } }
    if set.isEmpty { note("ok", "no proxy in the environment") }
    for (name, value) in set { note("ok", "\(name)=\(ProxyOptions.masked(value))") }
    if getenv("HTTP_PROXY") != nil, getenv("http_proxy") == nil {
      note("--", "HTTP_PROXY in upper case is ignored, as curl does: write it in lower case")
    }
  }

  mutating func limits() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    note(limit.rlim_cur < 1024 ? "--" : "ok", "\(limit.rlim_cur) file descriptors: one for each connection")
  }

  mutating func clock() {
    let now = Date.now
    let text = now.formatted(.iso8601)
    // Certificates are validated by this clock: a machine whose clock is in the past refuses them all.
    if now.timeIntervalSince1970 < 1_750_000_000 {
      fail("the clock says \(text): certificates will seem not yet valid; set the clock")
    } else {
      note("ok", "the clock says \(text)")
    }
  }

  mutating func note(_ mark: String, _ text: String) { lines.append("[\(mark)] \(text)") }

  mutating func fail(_ text: String) {
    hasFailure = true
    lines.append("[!!] \(text)")
  }
}
