// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro

/// The request of a command line, for one or more URLs.
struct FetchCommand: FetchingCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch", abstract: "Fetches URLs.",
    discussion: """
      Takes curl's options. A URL without a scheme is http for localhost and for loopback, private and link-local \
      addresses, else https; ':8080' is a port of localhost. Redirects are followed. A response outside 2xx is a \
      failure; its body is printed. Trailer fields are read, and not printed.

      EXAMPLES:
        lastro fetch localhost:8080/health
        lastro fetch -O https://example.org/a.zip -o b.zip https://example.org/2
        lastro fetch --json '{"name": "Ann"}' https://api.example.org/users
        lastro fetch -d a=1 https://example.org/in --next https://example.org/out
        lastro fetch -z page.html -R -o page.html https://example.org/
        lastro fetch -C - -O https://example.org/disk.img
        lastro fetch --retry 3 --report https://api.example.org/users
        lastro fetch -k https://192.168.1.1/
        lastro fetch --trace-ascii - -o page.html https://example.org/
        lastro fetch --tls-max 1.2 https://example.org/

      \(AcceptedFlags.help)

      \(ExitStatus.help) With several URLs it is that of the first URL that failed.
      """)

  @Argument(help: ArgumentHelp("URLs, http or https.", valueName: "url"))
  var urls: [String]
  @OptionGroup var request: RequestFlags
  @OptionGroup var address: AddressFlags
  @OptionGroup var body: BodyFlags
  @OptionGroup var condition: ConditionFlags
  @OptionGroup var connection: ConnectionFlags
  @OptionGroup var identity: IdentityFlags
  @OptionGroup var pins: PinFlags
  @OptionGroup var way: ViaFlags
  @OptionGroup var cookies: CookieFlags
  @OptionGroup var output: OutputFlags
  @OptionGroup var transfers: TransferFlags
  @Flag(
    help: """
      Follow links to next pages (RFC 8288) on the same server, and print their bodies one after another. --timeout is \
      for all pages, --max-body for each (default 10 MiB).
      """)
  var paginate = false
  @OptionGroup var cached: CacheFlags
  @OptionGroup var downloadFlags: DownloadFlags
  @OptionGroup var accepted: AcceptedFlags

  func validate() throws {
    try validateFlags()
    try validateFiles()
    try validateNumberOfURLs()
    if output.raw, cached.directory != nil {
      throw ValidationError(
        "--raw and --cache exclude each other: the cache stores decoded bodies; fetch with --raw alone.")
    }
  }

  private func validateFiles() throws {
    if downloadFlags.download != nil, let other = output.nameOfFile {
      throw ValidationError("--download and \(other) exclude each other.")
    }
    if let saving = downloadFlags.download != nil ? "--download" : downloadFlags.continueAt != nil ? "-C" : nil {
      for (name, isSet) in [
        ("-D", output.dumpHeader != nil), ("-i", output.include), ("--paginate", paginate), ("-J", output.offeredName),
        ("--limit-rate", transfers.limitRate != nil),
      ] where isSet {
        throw ValidationError("\(saving) and \(name) exclude each other: write with -o FILE alone.")
      }
    }
    if downloadFlags.continueAt != nil, downloadFlags.download == nil, !urls.indices.allSatisfy(output.hasFile) {
      throw ValidationError("-C needs -o FILE or -O.")
    }
  }

  private func validateNumberOfURLs() throws {
    if output.count > urls.count {
      let number = urls.count == 1 ? "1 URL" : "\(urls.count) URLs"
      throw ValidationError("-o and -O name \(output.count) files for \(number); write one for each URL.")
    }
    guard urls.count > 1 else { return }
    let single = [
      ("--download", downloadFlags.download != nil), ("-T", body.upload != nil),
      ("-D \(output.dumpHeader?.onOneLine ?? "")", output.dumpHeader.map { $0 != "-" } ?? false),
    ]
    if let name = single.first(where: \.1)?.0 ?? condition.names.first {
      throw ValidationError("\(name) is for one URL; write --next between the URLs, with the option for each.")
    }
  }

  /// Runs this request alone.
  func run() async throws { try await FetchLine([self]).run() }

  /// Returns the specification of the request for a URL.
  func specification(for url: String) throws -> RequestSpecification {
    var specification = try self.specification(url: url, isSilent: output.silent)
    try address.apply(to: &specification)
    try condition.apply(to: &specification, isSilent: output.silent)
    return specification
  }
}
