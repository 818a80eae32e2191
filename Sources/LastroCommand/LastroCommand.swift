// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import LastroCurl

@main
struct LastroCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lastro",
    abstract: "Fetches resources over HTTP with Lastro.",
    version: LastroVersion.current,
    subcommands: [
      FetchCommand.self, ExplainCommand.self, BatchCommand.self, BenchCommand.self, PinsCommand.self,
      DoctorCommand.self,
    ])
}
