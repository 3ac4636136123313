import { randomID, type Picture } from "./runs";

const kinds = ["image/png", "image/jpeg", "image/gif", "image/webp"];
export const accepted = kinds.join(",");
const oneLimit = 8 << 20;
const allLimit = 20 << 20; // base64 makes 27 MB of it, below the server's 32
const most = 10;

/** The files that can be sent, as pictures, and a sentence for each that cannot. */
export async function picturesOf(files: Iterable<File>, have: Picture[]): Promise<{ pictures: Picture[]; refused: string[] }> {
  const pictures: Picture[] = [];
  const refused: string[] = [];
  let total = have.reduce((sum, one) => sum + one.size, 0);
  for (const file of files) {
    const why = whyNot(file, total, have.length + pictures.length);
    if (why) {
      refused.push(why);
      continue;
    }
    total += file.size;
    pictures.push({ id: randomID(), name: file.name || "image", type: file.type, size: file.size, url: await dataURL(file) });
  }
  return { pictures, refused };
}

export function whyNot(file: Pick<File, "name" | "type" | "size">, total: number, count: number): string | null {
  const name = file.name || "The image";
  if (!kinds.includes(file.type)) return `${name} is not an image that models read. Use PNG, JPEG, GIF or WebP.`;
  if (file.size > oneLimit) return `${name} has ${megabytes(file.size)}. One image may have at most ${megabytes(oneLimit)}.`;
  if (count >= most) return `${name} was left out: a message may have at most ${most} images.`;
  if (total + file.size > allLimit) return `${name} was left out: all images of a message may have at most ${megabytes(allLimit)} together.`;
  return null;
}

const megabytes = (bytes: number) => `${(bytes / (1 << 20)).toFixed(bytes < 10 << 20 && bytes % (1 << 20) !== 0 ? 1 : 0)} MB`;

function dataURL(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });
}

/** A picture of a message that was sent before, to be sent again. */
export function pictureFrom(url: string): Picture | null {
  const match = /^data:(image\/[\w.+-]+);base64,(.*)$/.exec(url);
  if (!match) return null;
  return { id: randomID(), name: "image", type: match[1]!, size: Math.floor((match[2]!.length * 3) / 4), url };
}
