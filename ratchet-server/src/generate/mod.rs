//! `ratchet generate`: typed producers and handlers in other languages, made of a manifest.

mod names;
mod python;
mod read;
mod types;
mod typescript;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::{Args, ValueEnum};
use ratchet::manifest::DescribedOperation;
use serde_json::Value;

use crate::error::Error;
use crate::operate::output;
use names::Names;
use types::{Definition, Type, Types};

#[derive(Args)]
pub(crate) struct GenerateArguments {
    language: Language,
    /// What the program prints of `registry.manifest()`; `-` is standard input.
    manifest: PathBuf,
    /// The file to write; standard output if left out.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Language {
    /// For the client in `clients/typescript`.
    Typescript,
    /// For the client `getratchet` with the package in `clients/python`.
    Python,
}

pub(crate) fn run(arguments: &GenerateArguments) -> Result<ExitCode, Error> {
    let manifest = read::manifest(&arguments.manifest)?;
    let module = Module::of(&manifest.operations);
    let text = match arguments.language {
        Language::Typescript => typescript::write(&module),
        Language::Python => python::write(&module),
    };
    match &arguments.out {
        None => output::write(|out| out.write_all(text.as_bytes()))?,
        Some(file) => fs::write(file, text).map_err(|reason| cannot_write(file, &reason))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn cannot_write(file: &Path, reason: &io::Error) -> Error {
    Error::Output(io::Error::new(reason.kind(), format!("{}: {reason}", file.display())))
}

/// What is generated, without the words of a language.
struct Module<'a> {
    definitions: Vec<Definition>,
    operations: Vec<Generated<'a>>,
}

/// One version of an operation.
struct Generated<'a> {
    operation: &'a DescribedOperation,
    /// Its name in `PascalCase`, with the version where there are several.
    name: String,
    input: Option<Type>,
    output: Option<Type>,
}

impl<'a> Module<'a> {
    fn of(operations: &'a [DescribedOperation]) -> Self {
        let (mut types, mut variables) = (Types::new(), Names::default());
        let versions = |name| operations.iter().filter(|operation| &operation.name == name).count();
        let operations = operations.iter().map(|operation| {
            let mut name = names::pascal(operation.name.as_str());
            if versions(&operation.name) > 1 {
                let version =
                    operation.version.as_str().replace(|char: char| !char.is_ascii_alphanumeric(), "_");
                name = format!("{name}V{version}");
            }
            let name = variables.reserve(&name);
            let mut of = |schema: Option<&Value>, end: &str| {
                schema.map(|schema| types.root(&format!("{name}{end}"), &name, schema))
            };
            let (input, output) =
                (of(operation.input.as_ref(), "Input"), of(operation.output.as_ref(), "Output"));
            Generated { operation, name, input, output }
        });
        let operations = operations.collect();
        Self { definitions: types.into_definitions(), operations }
    }
}

impl Generated<'_> {
    /// What a reader of the code is told about it.
    fn comment(&self) -> Vec<String> {
        let DescribedOperation { name, version, key, .. } = self.operation;
        let mut lines = vec![format!("`{name}` version {version}, with the key `{key}`.")];
        if read::is_opaque(self.operation) {
            lines.push(
                "How a value of its key is written is known to Rust alone, so only Rust enqueues it."
                    .to_owned(),
            );
        }
        lines
    }
}
